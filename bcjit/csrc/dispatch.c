/* dispatch.c - Dispatcher: how a captured function is called when no hook is on. */
#include "core.h"

typedef struct {                            /* one call, as it came */
    Dispatcher *self;
    PyThreadState *ts;
    PyObject *const *args;
    size_t nargsf;
    PyObject *kwnames;
    Values *bound;                          /* references to its values; NULL: the caller's */
} Call;

static PyObject *call_plain(const Call *call)
{
    int token = bcjit_enter_call(call->ts);
    if (token < 0) {
        return NULL;
    }
    PyObject *result = PyObject_Vectorcall(call->self->fn, call->args, call->nargsf, call->kwnames);
    bcjit_leave_call(call->ts, token);
    return result;
}

static void drop_bound(const Call *call)
{
    if (call->bound != NULL) {
        bcjit_values_clear(call->bound);
    }
}

/* No entry holds: the function is called, and its frame met by the hook. */
static PyObject *missed(Call *call)
{
    Dispatcher *self = call->self;
    PyFunctionObject *fn = (PyFunctionObject *)self->fn;
    self->part->misses++;
    drop_bound(call);
    if (self->part->on_miss == NULL || bcjit_part_is_busy(self->part) ||
        fn->vectorcall != bcjit_function_vectorcall) {
        return call_plain(call);
    }
    PyObject *handled = Py_XNewRef(*bcjit_handled_exception(call->ts));
    Values values;
    if (bcjit_values_init(&values, NULL, 0) < 0) {
        return NULL;
    }
    Arm arm = {.kind = ARM_CAPTURE, .code = self->code, .part = self->part, .values = &values};
    bcjit_arm(call->ts, &arm);
    PyObject *result = call_plain(call);
    bcjit_disarm(call->ts, &arm);
    if (arm.entry != NULL) {
        if (arm.arrival == ARRIVED_CLEANED && result != NULL) {
            Py_DECREF(result);
            result = bcjit_entry_run(call->ts, arm.entry, (PyObject *)fn, fn->func_closure,
                                     values.items, values.n, &values);
        }
        result = bcjit_after_entry(self->part, (PyObject *)fn, arm.entry, result, values.items,
                                   values.n, &values, handled);
        Py_DECREF(arm.entry);
    }
    bcjit_values_clear(&values);
    Py_XDECREF(handled);
    return result;
}

static PyObject *run_entry(Call *call, Entry *entry, PyObject *closure, PyObject *const *values,
                           Py_ssize_t n)
{
    Dispatcher *self = call->self;
    PyObject *handled = Py_XNewRef(*bcjit_handled_exception(call->ts));
    PyObject *result = NULL;
    if (entry->hand_over != NULL && !bcjit_profiling_active(call->ts)) {
        State next;
        if (BCJIT_LIKELY(bcjit_hand_over(call->ts, entry, self->fn, values, &next))) {
            Py_XDECREF(handled);
            drop_bound(call);
            return bcjit_drive_state(&next, self->fn);
        }
    }
    else {
        result = bcjit_entry_run(call->ts, entry, self->fn, closure, values, n, call->bound);
    }
    if (BCJIT_UNLIKELY(result == NULL || !entry->returns)) {
        result = bcjit_after_entry(self->part, self->fn, entry, result, values, n, call->bound,
                                   handled);
    }
    Py_XDECREF(handled);
    return result;
}

static PyObject *run_plain(const Call *call)
{
    drop_bound(call);
    return call_plain(call);
}

static PyObject *dispatch(Call *call, PyObject *const *values, Py_ssize_t n)
{
    Dispatcher *self = call->self;
    PyObject *closure = ((PyFunctionObject *)self->fn)->func_closure;
    Entry *entry = bcjit_part_hit(self->part, values, n, self->fn, closure);
    if (BCJIT_UNLIKELY(entry == NULL)) {
        return missed(call);
    }
    Sample sample = {NULL};
    bool plain = entry->trial == NULL
                     ? entry->plain
                     : bcjit_trial_begin(self->part, entry, values, n, &sample);
    PyObject *result = plain ? run_plain(call) : run_entry(call, entry, closure, values, n);
    bcjit_trial_end(&sample, result != NULL);
    Py_DECREF(entry);
    return result;
}

static PyObject *Dispatcher_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                                       PyObject *kwnames)
{
    Dispatcher *self = (Dispatcher *)callable;
    if (BCJIT_UNLIKELY(self->fn == NULL)) {
        PyErr_SetString(PyExc_TypeError, "this Dispatcher has not been initialised");
        return NULL;
    }
    Call call = {self, PyThreadState_Get(), args, nargsf, kwnames, NULL};
    PyFunctionObject *fn = (PyFunctionObject *)self->fn;
    if (BCJIT_UNLIKELY(!self->enabled || self->part->skip || bcjit_tracing_active(call.ts) ||
                       fn->func_code != (PyObject *)self->code)) {
        return call_plain(&call);
    }
    if (self->part->unchecked > 0) {        /* compiled is slower than plain, time and again */
        self->part->unchecked--;
        return call_plain(&call);
    }
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (BCJIT_LIKELY(nargs == self->simple_args && kwnames == NULL)) {
        return dispatch(&call, args, nargs);
    }
    Values bound;
    int status = bcjit_bind(fn, args, nargs, kwnames, &bound);
    if (status != 1) {
        return status == 0 ? call_plain(&call) : NULL;
    }
    call.bound = &bound;
    PyObject *result = dispatch(&call, bound.items, bound.n);
    bcjit_values_clear(&bound);
    return result;
}

/* ---- the Python type ------------------------------------------------------------------------- */

static int initialise(Dispatcher *self, PyObject *fn, Part *part)
{
    PyCodeObject *code = (PyCodeObject *)((PyFunctionObject *)fn)->func_code;
    if (part->plain_code != code) {
        PyErr_SetString(PyExc_ValueError, "part must be the whole of fn's code");
        return -1;
    }
    self->fn = Py_NewRef(fn);
    self->code = (PyCodeObject *)Py_NewRef((PyObject *)code);
    self->part = (Part *)Py_NewRef((PyObject *)part);
    bool simple = code->co_kwonlyargcount == 0 && !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
    self->simple_args = simple ? code->co_argcount : -1;
    self->enabled = !(code->co_flags & BCJIT_GENERATOR_FLAGS);
    return 0;
}

static int Dispatcher_init(Dispatcher *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"fn", "part", NULL};
    PyObject *fn, *part;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:Dispatcher", names, &PyFunction_Type, &fn,
                                     &BcjitPart_Type, &part)) {
        return -1;
    }
    if (self->fn != NULL) {
        PyErr_SetString(PyExc_TypeError, "a Dispatcher cannot be initialised twice");
        return -1;
    }
    return initialise(self, fn, (Part *)part);
}

static PyObject *Dispatcher_new(PyTypeObject *type, PyObject *Py_UNUSED(args),
                                PyObject *Py_UNUSED(kwargs))
{
    Dispatcher *self = (Dispatcher *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = Dispatcher_vectorcall;
    }
    return (PyObject *)self;
}

PyObject *bcjit_dispatcher_new(PyObject *fn, Part *part)
{
    PyObject *self = Dispatcher_new(&BcjitDispatcher_Type, NULL, NULL);
    if (self != NULL && initialise((Dispatcher *)self, fn, part) < 0) {
        Py_CLEAR(self);
    }
    return self;
}

static int Dispatcher_traverse(Dispatcher *self, visitproc visit, void *arg)
{
    Py_VISIT(self->fn);
    Py_VISIT(self->part);
    Py_VISIT(self->dict);
    return 0;
}

static int Dispatcher_clear(Dispatcher *self)
{
    Py_CLEAR(self->fn);                     /* checked at each call */
    Py_CLEAR(self->part);
    Py_CLEAR(self->dict);
    return 0;
}

static void Dispatcher_dealloc(Dispatcher *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Dispatcher_clear(self);
    Py_CLEAR(self->code);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyObject *Dispatcher_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static int Dispatcher_set_enabled(Dispatcher *self, PyObject *value, void *Py_UNUSED(unused))
{
    if (value == NULL || !PyBool_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "enabled must be True or False");
        return -1;
    }
    /* A generator's frame is never touched: there is nothing to enable. */
    self->enabled = value == Py_True && !(self->code->co_flags & BCJIT_GENERATOR_FLAGS);
    return 0;
}

static PyObject *Dispatcher_get_enabled(Dispatcher *self, void *Py_UNUSED(unused))
{
    return PyBool_FromLong(self->enabled);
}

static PyMemberDef Dispatcher_members[] = {
    {"fn", T_OBJECT_EX, offsetof(Dispatcher, fn), READONLY, "The plain function."},
    {"part", T_OBJECT_EX, offsetof(Dispatcher, part), READONLY, "Its first part."},
    {NULL}};

static PyGetSetDef Dispatcher_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {"enabled", (getter)Dispatcher_get_enabled, (setter)Dispatcher_set_enabled,
     "False: every call is a plain call.", NULL},
    {NULL}};

PyTypeObject BcjitDispatcher_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.Dispatcher",
    .tp_doc = "Calls a function through the entries of its first part.",
    .tp_basicsize = sizeof(Dispatcher),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE |
                Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = Dispatcher_new,
    .tp_init = (initproc)Dispatcher_init,
    .tp_dealloc = (destructor)Dispatcher_dealloc,
    .tp_traverse = (traverseproc)Dispatcher_traverse,
    .tp_clear = (inquiry)Dispatcher_clear,
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = Dispatcher_get,
    .tp_vectorcall_offset = offsetof(Dispatcher, vectorcall),
    .tp_dictoffset = offsetof(Dispatcher, dict),
    .tp_weaklistoffset = offsetof(Dispatcher, weakrefs),
    .tp_members = Dispatcher_members,
    .tp_getset = Dispatcher_getset,
};

/* Python subclasses do not inherit the flags that make calls and method calls cheap. */
PyObject *bcjit_enable_vectorcall(PyObject *Py_UNUSED(module), PyObject *cls)
{
    if (!PyType_Check(cls) || !PyType_IsSubtype((PyTypeObject *)cls, &BcjitDispatcher_Type)) {
        PyErr_SetString(PyExc_TypeError, "enable_vectorcall takes a subclass of Dispatcher");
        return NULL;
    }
    PyTypeObject *type = (PyTypeObject *)cls;
    if (type->tp_call != PyVectorcall_Call || type->tp_descr_get != Dispatcher_get) {
        PyErr_Format(PyExc_TypeError, "%.100s overrides __call__ or __get__", type->tp_name);
        return NULL;
    }
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
    PyType_Modified(type);
    return Py_NewRef(cls);
}
