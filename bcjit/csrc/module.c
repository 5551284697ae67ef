/* module.c - the module bcjit._core: its functions and types, nothing of their own. */
#include "core.h"

bool bcjit_tracing_override = false;
vectorcallfunc bcjit_function_vectorcall;

static PyObject *check_support(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
#ifdef Py_GIL_DISABLED
    return PyUnicode_FromString("bcjit does not support free-threaded builds of Python yet.");
#else
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        return PyUnicode_FromString(
            "bcjit works in the main interpreter only, not in subinterpreters.");
    }
    Py_RETURN_NONE;
#endif
}

static PyObject *tracing_active(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(bcjit_tracing_active(PyThreadState_Get()));
}

static PyObject *set_tracing_override(PyObject *Py_UNUSED(module), PyObject *value)
{
    int on = PyObject_IsTrue(value);
    if (on < 0) {
        return NULL;
    }
    bcjit_tracing_override = on;
    Py_RETURN_NONE;
}

static PyObject *hook_armed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(bcjit_hook_armed());
}

static PyObject *hook_installed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(bcjit_hook_installed(PyThreadState_Get()));
}

/* In C, so that no signal is handled between a manager's two methods. */
static PyObject *bound_special(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs == 2) {
        return PyMethod_New(args[1], args[0]);
    }
    if (nargs != 1) {
        PyErr_SetString(PyExc_TypeError, "bound_special([self,] function)");
        return NULL;
    }
    return Py_NewRef(args[0]);
}

#define FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef functions[] = {
    {"check_support", check_support, METH_NOARGS,
     "None, or a sentence that says why bcjit cannot work here."},
    {"drive", FASTCALL(bcjit_drive), METH_FASTCALL,
     "drive(part, func, closure, values): run a part and what follows, as a dispatcher does."},
    {"judge_samples", bcjit_judge_samples, METH_VARARGS,
     "judge_samples(compiled, plain): what the cost model decides of these seconds."},
    {"run_plain", FASTCALL(bcjit_run_plain), METH_FASTCALL,
     "run_plain(code, globals, closure, values): run code as a function on values."},
    {"set_error_state_mapper", bcjit_set_error_state_mapper, METH_VARARGS,
     "set_error_state_mapper(contextvar, mapper): how graphs are made to raise."},
    {"set_clock", bcjit_set_clock, METH_O,
     "set_clock(clock): what the cost model takes times by, in tests; None: the system's."},
    {"set_foreign_test", bcjit_set_foreign_test, METH_O,
     "set_foreign_test(test): test(exc, fn) -> the traceback of an exception that is not the graph's own, or None."},
    {"set_thread_count", bcjit_set_thread_count, METH_O,
     "set_thread_count(count): count() -> how many threads a kernel may use; None: one."},
    {"pool_size", bcjit_pool_size_now, METH_NOARGS, "pool_size() -> threads that help kernels."},
    {"set_flags_test", bcjit_set_flags_test, METH_O,
     "set_flags_test(test): test(flags) -> whether NumPy would say something of the flags that kernels raise."},
    {"ufunc_loop", bcjit_ufunc_loop, METH_VARARGS,
     "ufunc_loop(ufunc, index): the addresses of an inner loop and of its data."},
    {"tracing_active", tracing_active, METH_NOARGS,
     "Whether a trace function, debugger or coverage tool watches this thread."},
    {"set_tracing_override", set_tracing_override, METH_O,
     "True: stay compiled under tracing (to measure our own coverage)."},
    {"hook_armed", hook_armed, METH_NOARGS, "Whether this thread waits for a frame."},
    {"hook_installed", hook_installed, METH_NOARGS, "Whether the evaluator is ours now."},
    {"callee", FASTCALL(bcjit_callee), METH_FASTCALL,
     "callee(fn, tag): what residual code calls instead of fn."},
    {"bound_special", FASTCALL(bound_special), METH_FASTCALL,
     "bound_special([self,] function): the two slots that LOAD_SPECIAL pushes, as one callable."},
    {"set_callee_factory", bcjit_set_callee_factory, METH_O,
     "set_callee_factory(factory): factory(fn, tag) makes callees; None: none are made."},
    {"get_code_slot", bcjit_get_code_slot, METH_O, "The object kept for a code object, or None."},
    {"leave_alone", bcjit_leave_alone, METH_O,
     "leave_alone(code): a watch runs frames of this code plain."},
    {"watch", bcjit_watch, METH_O,
     "watch(chooser): look at every frame; chooser(code, func, values, asked) -> Part, False, None."},
    {"watch_forked", bcjit_watch_forked, METH_NOARGS, "To be called in the child of a fork."},
    {"run_file", bcjit_run_file, METH_O,
     "run_file(path): run a script as python does, with no frame below; 0, or -1 once it has failed."},
    {"run_string", bcjit_run_string, METH_O, "run_string(source): the same for the text of -c."},
    {"run_call", bcjit_run_call, METH_VARARGS,
     "run_call(callable, *args): the same for the call that is all of a program."},
    {"set_code_slot", bcjit_set_code_slot, METH_VARARGS,
     "set_code_slot(code, object): keep an object for a code object, weakly when possible."},
    {"enable_vectorcall", bcjit_enable_vectorcall, METH_O,
     "Make a subclass of Dispatcher as cheap to call as Dispatcher; returns it."},
    {"after_fork", bcjit_after_fork, METH_NOARGS,
     "In a child process: what other threads of the parent were compiling is nobody's work here."},
    {NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "bcjit._core",
    .m_doc = "Frames, parts, dispatchers and graph calls: what bcjit does in C.",
    .m_size = -1,
    .m_methods = functions,
};

/* 3.13 does not export the vectorcall of Python functions: read it off one. */
static int find_function_vectorcall(void)
{
    PyObject *globals = PyDict_New();
    PyObject *code = (PyObject *)PyCode_NewEmpty("<bcjit>", "empty", 1);
    PyObject *function = globals == NULL || code == NULL ? NULL : PyFunction_New(code, globals);
    if (function != NULL) {
        bcjit_function_vectorcall = ((PyFunctionObject *)function)->vectorcall;
    }
    Py_XDECREF(function);
    Py_XDECREF(code);
    Py_XDECREF(globals);
    return function == NULL ? -1 : 0;
}

static int add_types(PyObject *module)
{
    static struct {
        const char *name;
        PyTypeObject *type;
    } types[] = {
        {"Entry", &BcjitEntry_Type},           {"Part", &BcjitPart_Type},
        {"Dispatcher", &BcjitDispatcher_Type}, {"GraphCall", &BcjitGraphCall_Type},
        {"BailOut", &BcjitBailOut_Type},       {"Resumed", &BcjitResumed_Type},
        {"Completed", &BcjitCompleted_Type},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (PyType_Ready(types[i].type) < 0 ||
            PyModule_AddObjectRef(module, types[i].name, (PyObject *)types[i].type) < 0) {
            return -1;
        }
    }
    return 0;
}

PyMODINIT_FUNC PyInit__core(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    if (find_function_vectorcall() < 0 || bcjit_graphcall_init() < 0 || bcjit_codeslot_init() < 0 ||
        add_types(module) < 0 || bcjit_guards_init(module) < 0 || bcjit_kernel_init(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
