/* error_state.c - the error state of NumPy that graphs run under: what would warn raises.
 *
 * It is the value of a context variable, and to set and reset that makes two of the tables in which contexts keep
 * their variables. A table never changes, so those of a context without other variables are kept, and a call exchanges
 * the context's table for one and back: what setting and resetting would come to.
 */
#include "core.h"

static PyObject *error_state_var;           /* NumPy's context variable, or NULL: not set up */
static struct {
    PyObject *mapper;                       /* or NULL: the present state will do */
    PyObject *from, *to;                    /* the last state asked for, and what it became */
    PyObject *before, *within;              /* a context's variables without and with it; within NULL: as they are */
} mappings[2];                              /* of all graphs; of those that refuse warnings */

PyObject *bcjit_set_error_state_mapper(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *variable, *mapper, *refusing = NULL;
    if (!PyArg_ParseTuple(args, "OO|O:set_error_state_mapper", &variable, &mapper, &refusing)) {
        return NULL;
    }
    bool off = variable == Py_None && mapper == Py_None;
    if (!off && (!PyContextVar_CheckExact(variable) || !PyCallable_Check(mapper) ||
                 (refusing != NULL && !PyCallable_Check(refusing)))) {
        PyErr_SetString(PyExc_TypeError,
                        "set_error_state_mapper takes a ContextVar and callables, or None twice");
        return NULL;
    }
    Py_XSETREF(error_state_var, off ? NULL : Py_NewRef(variable));
    PyObject *const given[] = {mapper, refusing == NULL ? mapper : refusing};
    for (int i = 0; i < 2; i++) {
        Py_XSETREF(mappings[i].mapper, off ? NULL : Py_NewRef(given[i]));
        Py_CLEAR(mappings[i].from);
        Py_CLEAR(mappings[i].to);
        Py_CLEAR(mappings[i].before);
        Py_CLEAR(mappings[i].within);
    }
    Py_RETURN_NONE;
}

/* The state to set (new reference), or NULL: an error is set, or the present state will do. */
static PyObject *raising_state(int which)
{
    PyObject *now;
    if (PyContextVar_Get(error_state_var, NULL, &now) < 0) {
        return NULL;
    }
    if (now == NULL) {
        now = Py_NewRef(Py_None);
    }
    PyObject *state = NULL;
    if (BCJIT_LIKELY(now == mappings[which].from)) {
        state = Py_NewRef(mappings[which].to);
    }
    else {
        state = bcjit_call_back(mappings[which].mapper, &now, 1, false);
        if (state != NULL) {
            /* Both at once: what is dropped may let other threads run. */
            PyObject *from = mappings[which].from, *to = mappings[which].to;
            mappings[which].from = Py_NewRef(now);
            mappings[which].to = Py_NewRef(state);
            Py_XDECREF(from);
            Py_XDECREF(to);
        }
    }
    Py_DECREF(now);
    if (state == Py_None) {
        Py_CLEAR(state);
    }
    return state;
}

/* Takes over `vars` in the place of the context's table. */
static void exchange(PyThreadState *ts, PyContext *context, PyObject *vars)
{
    PyObject *old = (PyObject *)context->ctx_vars;
    context->ctx_vars = (PyHamtObject *)vars;
    ts->context_ver++;                      /* variables look again */
    Py_DECREF(old);
}

/* Whether a table has no variable but NumPy's: others would live as long as we keep it. */
static bool is_ours_alone(PyObject *vars)
{
    Py_ssize_t n = PyObject_Size(vars);
    if (n == 1) {
        n = PySequence_Contains(vars, error_state_var) == 1 ? 0 : -1;
    }
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return n == 0;
}

static void keep(int which, PyObject *before, PyObject *within)
{
    PyObject *old_before = mappings[which].before, *old_within = mappings[which].within;
    mappings[which].before = Py_NewRef(before);
    mappings[which].within = Py_XNewRef(within);
    Py_XDECREF(old_before);
    Py_XDECREF(old_within);
}

int bcjit_error_scope_enter(int which, ErrorScope *scope)
{
    scope->context = NULL;
    if (error_state_var == NULL) {
        return 0;
    }
    PyThreadState *ts = PyThreadState_Get();
    PyContext *context = (PyContext *)ts->context;
    if (BCJIT_LIKELY(context != NULL && mappings[which].before != NULL &&
                     (PyObject *)context->ctx_vars == mappings[which].before)) {
        if (mappings[which].within != NULL) {
            scope->context = Py_NewRef((PyObject *)context);
            scope->before = Py_NewRef(mappings[which].before);
            scope->within = Py_NewRef(mappings[which].within);
            exchange(ts, context, Py_NewRef(scope->within));
        }
        return 0;
    }
    PyObject *state = raising_state(which);
    if (state == NULL && PyErr_Occurred()) {
        return -1;
    }
    context = (PyContext *)ts->context;
    PyObject *before = context == NULL ? NULL : Py_NewRef((PyObject *)context->ctx_vars);
    if (state == NULL) {
        if (before != NULL && is_ours_alone(before)) {
            keep(which, before, NULL);
        }
        Py_XDECREF(before);
        return 0;
    }
    PyObject *token = PyContextVar_Set(error_state_var, state);
    Py_DECREF(state);
    if (token == NULL) {
        Py_XDECREF(before);
        return -1;
    }
    context = (PyContext *)ts->context;
    scope->context = Py_NewRef((PyObject *)context);
    scope->within = Py_NewRef((PyObject *)context->ctx_vars);
    scope->before = before;
    if (before == NULL) {                   /* there was no context yet */
        scope->before = token;
        Py_CLEAR(scope->within);
        return 0;
    }
    Py_DECREF(token);
    if (is_ours_alone(scope->within)) {
        keep(which, before, scope->within);
    }
    return 0;
}

/* Has the variable what it was before, in a context of which other variables were set since. */
static int put_back(PyThreadState *ts, PyContext *context, PyObject *before)
{
    if ((PyContext *)ts->context != context) {
        PyErr_SetString(PyExc_RuntimeError, "bcjit: a graph has left another context behind");
        return -1;
    }
    /* A token of that moment, for the table of now. */
    PyObject *now = Py_NewRef((PyObject *)context->ctx_vars);
    exchange(ts, context, Py_NewRef(before));
    PyObject *token = PyContextVar_Set(error_state_var, Py_None);
    exchange(ts, context, now);
    int failed = token == NULL ? -1 : PyContextVar_Reset(error_state_var, token);
    Py_XDECREF(token);
    return failed;
}

/* Whether NumPy's is still the only variable of a table; functions of NumPy's set it for themselves and put it back. */
static bool has_come_back(PyObject *vars, PyObject *within)
{
    return vars == within || (is_ours_alone(within) && is_ours_alone(vars));
}

int bcjit_error_scope_leave(ErrorScope *scope)
{
    PyThreadState *ts = PyThreadState_Get();
    PyContext *context = (PyContext *)scope->context;
    int failed = 0;
    if (BCJIT_LIKELY((PyObject *)context->ctx_vars == scope->within)) {
        exchange(ts, context, scope->before);
    }
    else {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        if (scope->within == NULL) {
            failed = PyContextVar_Reset(error_state_var, scope->before);
            Py_DECREF(scope->before);
        }
        else if (has_come_back((PyObject *)context->ctx_vars, scope->within)) {
            exchange(ts, context, scope->before);
        }
        else {
            failed = put_back(ts, context, scope->before);
            Py_DECREF(scope->before);
        }
        if (failed < 0) {
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(traceback);
        }
        else {
            PyErr_Restore(type, value, traceback);
        }
    }
    Py_XDECREF(scope->within);
    Py_DECREF(context);
    return failed;
}
