/* values.c - a counted array of owned references; small ones need no memory of their own. */
#include "core.h"

int bcjit_values_init(Values *values, PyObject *const *items, Py_ssize_t n)
{
    values->items = values->small;
    values->n = 0;
    if (n > BCJIT_SMALL_VALUES) {
        values->items = PyMem_New(PyObject *, n);
        if (values->items == NULL) {
            values->items = values->small;
            PyErr_NoMemory();
            return -1;
        }
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        values->items[i] = Py_NewRef(items[i]);
    }
    values->n = n;
    return 0;
}

void bcjit_values_clear(Values *values)
{
    /* Finalizers may run: the count goes first, so that nobody sees a half-cleared array. */
    Py_ssize_t n = values->n;
    values->n = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_XDECREF(values->items[i]);       /* a failed binding leaves gaps */
    }
    if (values->items != values->small) {
        PyMem_Free(values->items);
        values->items = values->small;
    }
}

PyObject *bcjit_values_tuple(PyObject *const *items, Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);
    if (tuple != NULL) {
        for (Py_ssize_t i = 0; i < n; i++) {
            PyTuple_SET_ITEM(tuple, i, Py_NewRef(items[i]));
        }
    }
    return tuple;
}
