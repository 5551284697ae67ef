/* graphcall.c - GraphCall, which makes a graph raise where NumPy would warn, and BailOut. */
#include "core.h"

/* ---- BailOut --------------------------------------------------------------------------------- */

typedef struct {
    PyBaseExceptionObject base;
    PyObject *call;
} BailOut;

static int BailOut_traverse(BailOut *self, visitproc visit, void *arg)
{
    Py_VISIT(self->call);
    return ((PyTypeObject *)PyExc_BaseException)->tp_traverse((PyObject *)self, visit, arg);
}

static int BailOut_clear(BailOut *self)
{
    Py_CLEAR(self->call);
    return ((PyTypeObject *)PyExc_BaseException)->tp_clear((PyObject *)self);
}

static void BailOut_dealloc(BailOut *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->call);
    PyObject_GC_Track(self);
    ((PyTypeObject *)PyExc_BaseException)->tp_dealloc((PyObject *)self);
}

static PyObject *BailOut_exception(BailOut *self, void *Py_UNUSED(unused))
{
    PyObject *cause = PyException_GetCause((PyObject *)self);
    return cause == NULL ? Py_NewRef(Py_None) : cause;
}

static PyMemberDef BailOut_members[] = {
    {"call", T_OBJECT, offsetof(BailOut, call), READONLY, "The GraphCall that failed, or None."},
    {NULL}};

static PyGetSetDef BailOut_getset[] = {
    {"exception", (getter)BailOut_exception, NULL, "What the graph raised (__cause__).", NULL},
    {NULL}};

PyTypeObject BcjitBailOut_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.BailOut",
    .tp_doc = "A graph failed: plain code must run instead. Never seen by user code.",
    .tp_basicsize = sizeof(BailOut),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_dealloc = (destructor)BailOut_dealloc,
    .tp_traverse = (traverseproc)BailOut_traverse,
    .tp_clear = (inquiry)BailOut_clear,
    .tp_members = BailOut_members,
    .tp_getset = BailOut_getset,
};

bool bcjit_is_bailout(void)
{
    return PyErr_ExceptionMatches((PyObject *)&BcjitBailOut_Type);
}

int bcjit_graphcall_init(void)
{
    BcjitBailOut_Type.tp_base = (PyTypeObject *)PyExc_BaseException;
    return PyType_Ready(&BcjitBailOut_Type);
}

/* ---- GraphCall ------------------------------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *fn;
    PyObject *tag;
    PyObject *weakrefs;
    vectorcallfunc vectorcall;
    char refuses_warnings;                  /* a warning raises in fn, without a state of ours */
    char single;                            /* fn returns the only output, not a tuple of it */
} GraphCall;

static PyObject *foreign_test;              /* or NULL: every Exception is the graph's own */

PyObject *bcjit_set_foreign_test(PyObject *Py_UNUSED(module), PyObject *test)
{
    Py_XSETREF(foreign_test, test == Py_None ? NULL : Py_NewRef(test));
    Py_RETURN_NONE;
}

PyObject *bcjit_foreign_traceback(PyObject *exc, PyObject *fn)
{
    if (foreign_test == NULL) {
        return Py_NewRef(Py_None);
    }
    PyObject *test = Py_NewRef(foreign_test);
    PyObject *const pair[] = {exc, fn};
    PyObject *traceback = PyObject_Vectorcall(test, pair, 2, NULL);
    Py_DECREF(test);
    return traceback;
}

/* Whether exc came from a signal handler that ran during the graph; then it is set again, with the traceback
 * that leaves the graph's own frames out. */
static bool restore_foreign(GraphCall *self, PyObject *exc)
{
    if (exc == NULL) {
        return false;
    }
    PyObject *traceback = bcjit_foreign_traceback(exc, self->fn);
    if (traceback == NULL) {
        return true;                        /* its own error stands */
    }
    if (traceback == Py_None) {
        Py_DECREF(traceback);
        return false;
    }
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exc)), Py_NewRef(exc), traceback);
    return true;
}

/* Turns the Exception that is set into a BailOut; other exceptions (KeyboardInterrupt) pass. */
static void bail_out(GraphCall *self)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return;
    }
    PyObject *type, *exc, *traceback;
    PyErr_Fetch(&type, &exc, &traceback);
    PyErr_NormalizeException(&type, &exc, &traceback);
    if (exc != NULL && traceback != NULL) {
        PyException_SetTraceback(exc, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    if (restore_foreign(self, exc)) {
        Py_XDECREF(exc);
        return;
    }
    PyObject *bail = PyObject_CallNoArgs((PyObject *)&BcjitBailOut_Type);
    if (bail == NULL) {
        Py_XDECREF(exc);
        return;
    }
    PyException_SetCause(bail, exc);
    ((BailOut *)bail)->call = Py_NewRef((PyObject *)self);
    PyErr_SetObject((PyObject *)&BcjitBailOut_Type, bail);
    Py_DECREF(bail);
}

static PyObject *run_graph(GraphCall *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    ErrorScope scope;
    if (bcjit_error_scope_enter(self->refuses_warnings, &scope) < 0) {
        return NULL;
    }
    PyObject *fn = Py_NewRef(self->fn);     /* machine code may let other threads run, which may forget it */
    PyObject *result = PyObject_Vectorcall(fn, args, nargsf, kwnames);
    Py_DECREF(fn);
    if (scope.context != NULL && bcjit_error_scope_leave(&scope) < 0) {
        Py_CLEAR(result);
        return NULL;
    }
    if (BCJIT_UNLIKELY(result == NULL)) {
        bail_out(self);
    }
    return result;
}

/* From residual code: the values of its run are not needed any more. */
static PyObject *GraphCall_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                                      PyObject *kwnames)
{
    PyObject *result = run_graph((GraphCall *)callable, args, nargsf, kwnames);
    if (BCJIT_LIKELY(result != NULL)) {
        bcjit_graph_succeeded(callable);
    }
    return result;
}

void bcjit_bail_out_of(PyObject *graph_call) { bail_out((GraphCall *)graph_call); }

bool bcjit_graph_is_single(PyObject *graph_call) { return ((GraphCall *)graph_call)->single; }

PyObject *bcjit_run_graph(PyObject *graph_call, PyObject *const *args, Py_ssize_t n)
{
    return run_graph((GraphCall *)graph_call, args, (size_t)n, NULL);
}

PyObject *bcjit_call_graph(PyObject *graph_call, PyObject *const *args, Py_ssize_t n)
{
    PyObject *outputs = bcjit_run_graph(graph_call, args, n);
    if (BCJIT_LIKELY(((GraphCall *)graph_call)->single) || outputs == NULL) {
        return outputs;
    }
    PyObject *result = NULL;
    if (BCJIT_LIKELY(PyTuple_CheckExact(outputs) && PyTuple_GET_SIZE(outputs) == 1)) {
        result = Py_NewRef(PyTuple_GET_ITEM(outputs, 0));
    }
    else {
        PyErr_Format(PyExc_ValueError, "bcjit: a graph must return a tuple of 1 output, not %.100R",
                     outputs);
    }
    Py_DECREF(outputs);
    return result;
}

static PyObject *GraphCall_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"fn", "tag", "refuses_warnings", "single", NULL};
    PyObject *fn, *tag;
    int refuses_warnings = 0, single = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|pp:GraphCall", names, &fn, &tag,
                                     &refuses_warnings, &single)) {
        return NULL;
    }
    if (!PyCallable_Check(fn)) {
        PyErr_Format(PyExc_TypeError, "fn must be callable, not %.100s", Py_TYPE(fn)->tp_name);
        return NULL;
    }
    GraphCall *self = (GraphCall *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->fn = Py_NewRef(fn);
        self->tag = Py_NewRef(tag);
        self->refuses_warnings = (char)refuses_warnings;
        self->single = (char)single;
        self->vectorcall = GraphCall_vectorcall;
    }
    return (PyObject *)self;
}

static int GraphCall_traverse(GraphCall *self, visitproc visit, void *arg)
{
    Py_VISIT(self->fn);
    Py_VISIT(self->tag);
    return 0;
}

static int GraphCall_clear(GraphCall *self)
{
    PyObject *fn = self->fn;
    self->fn = Py_NewRef(Py_None);          /* a finalizer may still call this */
    Py_XDECREF(fn);
    Py_CLEAR(self->tag);
    return 0;
}

static void GraphCall_dealloc(GraphCall *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Py_CLEAR(self->fn);
    Py_CLEAR(self->tag);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef GraphCall_members[] = {
    {"fn", T_OBJECT, offsetof(GraphCall, fn), READONLY, "The backend's callable."},
    {"tag", T_OBJECT, offsetof(GraphCall, tag), READONLY, "The owner's."},
    {"refuses_warnings", T_BOOL, offsetof(GraphCall, refuses_warnings), READONLY,
     "Whether a warning raises in fn whatever the error state."},
    {"single", T_BOOL, offsetof(GraphCall, single), READONLY,
     "Whether fn returns the graph's only output, not a tuple of outputs."},
    {NULL}};

PyTypeObject BcjitGraphCall_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.GraphCall",
    .tp_doc = "Calls a compiled graph with warnings raised; any Exception becomes a BailOut.",
    .tp_basicsize = sizeof(GraphCall),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = GraphCall_new,
    .tp_dealloc = (destructor)GraphCall_dealloc,
    .tp_traverse = (traverseproc)GraphCall_traverse,
    .tp_clear = (inquiry)GraphCall_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(GraphCall, vectorcall),
    .tp_members = GraphCall_members,
    .tp_weaklistoffset = offsetof(GraphCall, weakrefs),
};
