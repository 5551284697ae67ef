/* run.c - code objects run as functions on values, and Resumed, which stands in for a callee. */
#include "core.h"

/* A function is made once for a code object and kept as a spare, without its closure: the cells may
 * hold the user's arrays. While it runs it is taken, so a recursive call makes another. */
PyFunctionObject *bcjit_function_take(PyFunctionObject **spare, PyCodeObject *code,
                                      const Surroundings *around)
{
    Py_ssize_t cells = around->closure == NULL ? 0 : PyTuple_GET_SIZE(around->closure);
    if (BCJIT_UNLIKELY(code->co_nfreevars != cells)) {
        PyErr_Format(PyExc_ValueError, "code of %U needs %d cells, got %zd", code->co_qualname,
                     code->co_nfreevars, cells);
        return NULL;
    }
    PyFunctionObject *function = *spare;
    if (BCJIT_LIKELY(function != NULL && function->func_globals == around->globals &&
                     (around->builtins == NULL || function->func_builtins == around->builtins))) {
        *spare = NULL;
    }
    else {
        /* Guards have just been checked: no finalizer may run before the code has read what they are about. */
        int collects = PyGC_Disable();
        function = (PyFunctionObject *)PyFunction_New((PyObject *)code, around->globals);
        if (collects) {
            PyGC_Enable();
        }
        if (function == NULL) {
            return NULL;
        }
        if (around->builtins != NULL && function->func_builtins != around->builtins) {
            PyObject *old = function->func_builtins;
            function->func_builtins = Py_NewRef(around->builtins);
            Py_DECREF(old);
        }
    }
    function->func_closure = Py_XNewRef(around->closure);
    return function;
}

void bcjit_function_give(PyFunctionObject **spare, PyFunctionObject *function)
{
    if (BCJIT_UNLIKELY(Py_REFCNT(function) != 1 || *spare != NULL)) {
        Py_DECREF(function);        /* a frame object holds it, or there is a spare already */
        return;
    }
    PyObject *closure = function->func_closure;
    function->func_closure = NULL;
    *spare = function;
    Py_XDECREF(closure);
}

PyObject *bcjit_run_code(PyFunctionObject **spare, PyCodeObject *code, const Surroundings *around,
                         Values *values)
{
    PyThreadState *ts = PyThreadState_Get();
    PyFunctionObject *none = NULL;
    PyFunctionObject *function = bcjit_function_take(spare == NULL ? &none : spare, code, around);
    if (function == NULL) {
        bcjit_values_clear(values);
        return NULL;
    }
    PyObject *result = NULL;
    int token = bcjit_enter_call(ts);
    if (token >= 0) {
        Arm arm = {.kind = ARM_RELEASE, .code = code, .values = values};
        bcjit_arm(ts, &arm);
        result = function->vectorcall((PyObject *)function, values->items, (size_t)values->n, NULL);
        bcjit_disarm(ts, &arm);
        bcjit_leave_call(ts, token);
    }
    bcjit_values_clear(values);
    if (spare == NULL) {
        Py_DECREF(function);
    }
    else {
        bcjit_function_give(spare, function);
    }
    return result;
}

/* ---- run_plain and Resumed ------------------------------------------------------------------- */

static int check_run(PyObject *code, PyObject *globals, PyObject *closure, PyObject *values)
{
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "code must be a code object");
        return -1;
    }
    if (!PyDict_Check(globals)) {
        PyErr_SetString(PyExc_TypeError, "globals must be a dict");
        return -1;
    }
    if (!PyTuple_CheckExact(values)) {
        PyErr_SetString(PyExc_TypeError, "values must be a tuple");
        return -1;
    }
    if (closure == Py_None) {
        return 0;
    }
    if (!PyTuple_CheckExact(closure)) {
        PyErr_SetString(PyExc_TypeError, "closure must be a tuple of cells or None");
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(closure); i++) {
        if (!PyCell_Check(PyTuple_GET_ITEM(closure, i))) {
            PyErr_SetString(PyExc_TypeError, "closure must be a tuple of cells or None");
            return -1;
        }
    }
    return 0;
}

PyObject *bcjit_run_plain(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 4) {
        PyErr_Format(PyExc_TypeError, "run_plain takes 4 arguments, got %zd", nargs);
        return NULL;
    }
    if (check_run(args[0], args[1], args[2], args[3]) < 0) {
        return NULL;
    }
    Surroundings around = {args[1], NULL, args[2] == Py_None ? NULL : args[2]};
    Values values;
    if (bcjit_values_init(&values, ((PyTupleObject *)args[3])->ob_item,
                          PyTuple_GET_SIZE(args[3])) < 0) {
        return NULL;
    }
    return bcjit_run_code(NULL, (PyCodeObject *)args[0], &around, &values);
}

typedef struct {
    PyObject_HEAD
    PyObject *code;
    PyObject *globals;
    PyObject *closure;                      /* NULL for none */
    PyObject *values;                       /* NULL once called */
    vectorcallfunc vectorcall;
} Resumed;

static PyObject *Resumed_vectorcall(PyObject *callable, PyObject *const *Py_UNUSED(args),
                                    size_t Py_UNUSED(nargsf), PyObject *Py_UNUSED(kwnames))
{
    Resumed *self = (Resumed *)callable;
    if (self->values == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a Resumed can be called once only");
        return NULL;
    }
    Values values;
    PyObject *tuple = self->values;
    if (bcjit_values_init(&values, ((PyTupleObject *)tuple)->ob_item,
                          PyTuple_GET_SIZE(tuple)) < 0) {
        return NULL;
    }
    self->values = NULL;
    Py_DECREF(tuple);
    Surroundings around = {self->globals, NULL, self->closure};
    return bcjit_run_code(NULL, (PyCodeObject *)self->code, &around, &values);
}

static PyObject *Resumed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "", "", "", NULL};
    PyObject *code, *globals, *closure, *values;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOO:Resumed", names, &code, &globals, &closure,
                                     &values) ||
        check_run(code, globals, closure, values) < 0) {
        return NULL;
    }
    Resumed *self = (Resumed *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->code = Py_NewRef(code);
        self->globals = Py_NewRef(globals);
        self->closure = closure == Py_None ? NULL : Py_NewRef(closure);
        self->values = Py_NewRef(values);
        self->vectorcall = Resumed_vectorcall;
    }
    return (PyObject *)self;
}

static int Resumed_traverse(Resumed *self, visitproc visit, void *arg)
{
    Py_VISIT(self->globals);
    Py_VISIT(self->closure);
    Py_VISIT(self->values);
    return 0;
}

static int Resumed_clear(Resumed *self)
{
    Py_CLEAR(self->values);
    return 0;
}

static void Resumed_dealloc(Resumed *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->code);
    Py_XDECREF(self->globals);
    Py_XDECREF(self->closure);
    Py_XDECREF(self->values);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject BcjitResumed_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.Resumed",
    .tp_doc = "Called once, with any arguments, runs code as a function on values.",
    .tp_basicsize = sizeof(Resumed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = Resumed_new,
    .tp_dealloc = (destructor)Resumed_dealloc,
    .tp_traverse = (traverseproc)Resumed_traverse,
    .tp_clear = (inquiry)Resumed_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Resumed, vectorcall),
};
