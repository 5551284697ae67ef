/* bind.c - a call's arguments in the order of the callee's fast locals, as CPython binds them.
 *
 * Mirrors initialize_locals() in CPython's Python/ceval.c. It never raises TypeError itself: where
 * the call is wrong, or a keyword is not an exact string, the caller calls the function and Python
 * binds or raises. */
#include "core.h"

typedef struct {
    PyFunctionObject *fn;
    PyCodeObject *code;
    Py_ssize_t positional;                  /* parameters that take positional arguments */
    Py_ssize_t named;                       /* those and the keyword-only ones */
    PyObject **slots;                       /* owned references, NULL where unbound */
    PyObject *extra;                        /* the ** dict, or NULL */
} Binding;

static PyObject *parameter_name(Binding *b, Py_ssize_t i)
{
    return PyTuple_GET_ITEM(b->code->co_localsplusnames, i);
}

/* The parameter of this name, or -1. */
static Py_ssize_t parameter_index(Binding *b, PyObject *name)
{
    for (Py_ssize_t i = b->code->co_posonlyargcount; i < b->named; i++) {
        if (parameter_name(b, i) == name) {
            return i;
        }
    }
    for (Py_ssize_t i = b->code->co_posonlyargcount; i < b->named; i++) {
        if (PyUnicode_Compare(parameter_name(b, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

static int bind_keywords(Binding *b, PyObject *const *values, PyObject *kwnames)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        if (!PyUnicode_CheckExact(name)) {
            return 0;
        }
        Py_ssize_t i = parameter_index(b, name);
        if (i >= 0) {
            if (b->slots[i] != NULL) {
                return 0;
            }
            b->slots[i] = Py_NewRef(values[k]);
        }
        else if (b->extra == NULL) {
            return 0;
        }
        else if (PyDict_SetItem(b->extra, name, values[k]) < 0) {
            return -1;
        }
    }
    return 1;
}

static int bind_defaults(Binding *b)
{
    PyObject *defaults = b->fn->func_defaults, *kwdefaults = b->fn->func_kwdefaults;
    Py_ssize_t first = b->positional - (defaults == NULL ? 0 : PyTuple_GET_SIZE(defaults));
    for (Py_ssize_t i = 0; i < b->named; i++) {
        PyObject *value = NULL;
        if (b->slots[i] != NULL) {
            continue;
        }
        if (i < b->positional) {
            value = i < first ? NULL : PyTuple_GET_ITEM(defaults, i - first);
        }
        else if (kwdefaults != NULL) {
            value = PyDict_GetItemWithError(kwdefaults, parameter_name(b, i));
        }
        if (value == NULL) {
            return PyErr_Occurred() ? -1 : 0;
        }
        b->slots[i] = Py_NewRef(value);
    }
    return 1;
}

static int bind_variadic(Binding *b, PyObject *const *args, Py_ssize_t nargs)
{
    Py_ssize_t place = b->named;
    Py_ssize_t taken = nargs < b->positional ? nargs : b->positional;
    if (b->code->co_flags & CO_VARARGS) {
        PyObject *rest = bcjit_values_tuple(args + taken, nargs - taken);
        if (rest == NULL) {
            return -1;
        }
        b->slots[place++] = rest;
    }
    else if (nargs > taken) {
        return 0;
    }
    if (b->code->co_flags & CO_VARKEYWORDS) {
        b->extra = PyDict_New();
        if (b->extra == NULL) {
            return -1;
        }
        b->slots[place++] = b->extra;
    }
    for (Py_ssize_t i = 0; i < taken; i++) {
        b->slots[i] = Py_NewRef(args[i]);
    }
    return 1;
}

int bcjit_bind(PyFunctionObject *fn, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
               Values *values)
{
    PyCodeObject *code = (PyCodeObject *)fn->func_code;
    Binding b = {.fn = fn,
                 .code = code,
                 .positional = code->co_argcount,
                 .named = (Py_ssize_t)code->co_argcount + code->co_kwonlyargcount};
    Py_ssize_t total =
        b.named + !!(code->co_flags & CO_VARARGS) + !!(code->co_flags & CO_VARKEYWORDS);
    values->n = 0;
    values->items = values->small;
    if (total > BCJIT_SMALL_VALUES) {
        values->items = PyMem_New(PyObject *, total);
        if (values->items == NULL) {
            values->items = values->small;
            PyErr_NoMemory();
            return -1;
        }
    }
    memset(values->items, 0, (size_t)total * sizeof(PyObject *));
    b.slots = values->items;
    values->n = total;
    int bound = bind_variadic(&b, args, nargs);
    if (bound == 1 && kwnames != NULL) {
        bound = bind_keywords(&b, args + nargs, kwnames);
    }
    if (bound == 1) {
        bound = bind_defaults(&b);
    }
    if (bound != 1) {
        bcjit_values_clear(values);
    }
    return bound;
}
