/* completed.c - Completed: stands in for an operand or callable of an instruction whose work is done and of which only
 * the floating-point report is due. Whatever the instruction asks of it, it reports and gives the result. */
#include "core.h"

typedef struct {
    PyObject_HEAD
    PyObject *result;
    PyObject *actions;                      /* tuple of (mode, text, callable or exception) */
} Completed;

/* As NumPy reports one flag (numpy/_core/src/umath/extobj.c, _error_handler); the warning's line is that of
 * the Python frame that runs now, which is the user's. */
static int report(PyObject *action)
{
    const char *mode;
    PyObject *what;
    if (!PyArg_ParseTuple(action, "sO", &mode, &what)) {
        return -1;
    }
    if (PyExceptionInstance_Check(what)) {
        PyErr_SetObject((PyObject *)Py_TYPE(what), what);
        return -1;
    }
    if (PyCallable_Check(what)) {
        PyObject *ignored = PyObject_CallNoArgs(what);
        Py_XDECREF(ignored);
        return ignored == NULL ? -1 : 0;
    }
    const char *text = PyUnicode_AsUTF8(what);
    if (text == NULL) {
        return -1;
    }
    if (strcmp(mode, "warn") == 0) {
        return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1);
    }
    if (strcmp(mode, "print") == 0) {
        fprintf(stderr, "Warning: %s\n", text);
        return 0;
    }
    PyErr_SetString(PyExc_FloatingPointError, text);
    return -1;
}

static PyObject *finish(Completed *self)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->actions); i++) {
        if (report(PyTuple_GET_ITEM(self->actions, i)) < 0) {
            return NULL;
        }
    }
    return Py_NewRef(self->result);
}

static PyObject *Completed_binary(PyObject *left, PyObject *Py_UNUSED(right))
{
    if (!Py_IS_TYPE(left, &BcjitCompleted_Type)) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return finish((Completed *)left);
}

static PyObject *Completed_power(PyObject *left, PyObject *right, PyObject *Py_UNUSED(modulus))
{
    return Completed_binary(left, right);
}

static int Completed_store(PyObject *self, PyObject *Py_UNUSED(key), PyObject *Py_UNUSED(value))
{
    PyObject *ignored = finish((Completed *)self);
    Py_XDECREF(ignored);
    return ignored == NULL ? -1 : 0;
}

static PyObject *Completed_call(PyObject *self, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    return finish((Completed *)self);
}

static PyObject *Completed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"result", "actions", NULL};
    PyObject *result, *actions;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!:Completed", names, &result, &PyTuple_Type,
                                     &actions)) {
        return NULL;
    }
    Completed *self = (Completed *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->result = Py_NewRef(result);
        self->actions = Py_NewRef(actions);
    }
    return (PyObject *)self;
}

static int Completed_traverse(Completed *self, visitproc visit, void *arg)
{
    Py_VISIT(self->result);
    Py_VISIT(self->actions);
    return 0;
}

static int Completed_clear(Completed *self)
{
    Py_CLEAR(self->result);                 /* reached only in garbage, which no code runs any more */
    return 0;
}

static void Completed_dealloc(Completed *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->result);
    Py_XDECREF(self->actions);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyNumberMethods Completed_number = {
    .nb_inplace_add = Completed_binary,
    .nb_inplace_subtract = Completed_binary,
    .nb_inplace_multiply = Completed_binary,
    .nb_inplace_remainder = Completed_binary,
    .nb_inplace_power = Completed_power,
    .nb_inplace_lshift = Completed_binary,
    .nb_inplace_rshift = Completed_binary,
    .nb_inplace_and = Completed_binary,
    .nb_inplace_xor = Completed_binary,
    .nb_inplace_or = Completed_binary,
    .nb_inplace_floor_divide = Completed_binary,
    .nb_inplace_true_divide = Completed_binary,
    .nb_inplace_matrix_multiply = Completed_binary,
};

static PyMappingMethods Completed_mapping = {.mp_ass_subscript = Completed_store};

PyTypeObject BcjitCompleted_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.Completed",
    .tp_doc = "Stands in for an operand of an instruction that is done but for its floating-point report.",
    .tp_basicsize = sizeof(Completed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = Completed_new,
    .tp_dealloc = (destructor)Completed_dealloc,
    .tp_traverse = (traverseproc)Completed_traverse,
    .tp_clear = (inquiry)Completed_clear,
    .tp_call = Completed_call,
    .tp_as_number = &Completed_number,
    .tp_as_mapping = &Completed_mapping,
};
