/* hook.c - the PEP 523 evaluator: waits for one frame at a time, on one thread.
 *
 * A frame is awaited for one of two reasons. CAPTURE: a dispatcher found no entry and calls the
 * function, whose frame brings the bound arguments to on_miss and then runs the entry's code in its
 * place. RELEASE: code is run on values that the driver owns, and the driver's references must go
 * once the frame has its own, so that the code alone decides when an object dies.
 *
 * The evaluator is set just before the call and put back at the frame's arrival. Nothing else runs
 * in between: the GIL is not let go, the dispatcher sends calls with user-made keyword strings
 * elsewhere, and the cycle collector is off. So the evaluator found is the one put back. It stays
 * only while a whole script is watched (watch.c).
 */
#include "core.h"

static BCJIT_THREAD_LOCAL Arm *armed;       /* innermost awaited frame of this thread */
static Py_ssize_t awaited;                  /* awaited frames of all threads */
static _PyFrameEvalFunction previous;       /* what ours replaced; NULL: the default evaluator */
static bool placed;                         /* ours is the evaluator, or another tool's calls it */

static PyObject *evaluate(PyThreadState *ts, bcjit_frame *frame, int throwflag);

bool bcjit_hook_armed(void) { return armed != NULL; }

bool bcjit_hook_installed(PyThreadState *ts) { return bcjit_get_evaluator(ts) == evaluate; }

void bcjit_place_evaluator(PyThreadState *ts)
{
    bool wanted = awaited > 0 || bcjit_watch_is_on();
    bool current = bcjit_hook_installed(ts);
    if (placed && !current && bcjit_is_default_evaluator(bcjit_get_evaluator(ts))) {
        placed = false;             /* another tool has thrown it out */
    }
    if (wanted && !placed) {
        previous = bcjit_get_evaluator(ts);
        placed = true;
        bcjit_set_evaluator(ts, evaluate);
    }
    else if (!wanted && placed && current) {
        bcjit_set_evaluator(ts, previous);
        previous = NULL;
        placed = false;
    }
}

void bcjit_arm(PyThreadState *ts, Arm *arm)
{
    arm->outer = armed;
    arm->caller = bcjit_current_frame(ts);
    armed = arm;
    awaited++;
    bcjit_place_evaluator(ts);
    if (arm->kind == ARM_CAPTURE) {
        arm->collects = PyGC_Disable();     /* 3.11 may collect when it makes *args or **kwargs */
    }
}

static void forget(PyThreadState *ts, Arm *arm)
{
    armed = arm->outer;
    if (--awaited == 0) {
        bcjit_place_evaluator(ts);
    }
    if (arm->collects) {
        PyGC_Enable();
    }
}

void bcjit_disarm(PyThreadState *ts, Arm *arm)
{
    if (armed == arm) {
        forget(ts, arm);
    }
}

/* ---- the awaited frame ----------------------------------------------------------------------- */

bool bcjit_swap_code(PyThreadState *ts, bcjit_frame *frame, PyCodeObject *code)
{
    PyCodeObject *old = bcjit_frame_code(frame);
    Py_ssize_t old_size = bcjit_code_framesize(old), size = bcjit_code_framesize(code);
    if (old_size != size) {
        PyObject **base = (PyObject **)frame;
        if (base + old_size != ts->datastack_top || ts->datastack_limit - base <= size) {
            return false;
        }
        /* Shrinking too: debug builds check the frame's size against the top. */
        ts->datastack_top = base + size;
    }
    bcjit_frame_replace_code(frame, code, old->co_nlocalsplus);
    return true;
}

PyObject *bcjit_clean_frame(PyThreadState *ts, bcjit_frame *frame, PyCodeObject *cleanup)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *result = NULL;
#if BCJIT_CALLEE_CLEARS_FRAME
    if (!bcjit_swap_code(ts, frame, cleanup)) {
        Py_FatalError("bcjit: a frame cannot be cleared");
    }
    result = _PyEval_EvalFrameDefault(ts, frame, 0);
#else
    (void)ts;
    (void)frame;
    (void)cleanup;
    result = Py_NewRef(Py_None);
#endif
    if (type != NULL) {
        Py_CLEAR(result);
        PyErr_Restore(type, value, traceback);
    }
    return result;
}

static PyObject *bound_arguments(bcjit_frame *frame, PyCodeObject *code)
{
    int n = code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
            !!(code->co_flags & CO_VARKEYWORDS);
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple != NULL && i < n; i++) {
        PyObject *value = bcjit_frame_local(frame, i);
        if (value == NULL) {
            PyErr_SetString(PyExc_SystemError, "bcjit: an argument is unbound in a fresh frame");
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(value));
    }
    return tuple;
}

static PyObject *captured(PyThreadState *ts, bcjit_frame *frame, Arm *arm,
                          _PyFrameEvalFunction below)
{
    PyCodeObject *code = bcjit_frame_code(frame);
    PyFunctionObject *func = (PyFunctionObject *)bcjit_frame_func(frame);
    arm->arrival = ARRIVED_PLAIN;
    PyCodeObject *cleanup = bcjit_part_cleanup_code(arm->part);
    if (cleanup == NULL) {
        PyErr_Clear();              /* no memory for it: run the frame as it is */
        return bcjit_eval(below, ts, frame, 0);
    }
    PyObject *values = bound_arguments(frame, code);
    if (values == NULL) {
        return bcjit_clean_frame(ts, frame, cleanup);
    }
    Entry *entry = bcjit_miss(arm->part, (PyObject *)func, func->func_closure, values);
    if (entry != NULL && entry->plain) {
        Py_CLEAR(entry);
    }
    else if (entry != NULL &&
             bcjit_values_init(arm->values, ((PyTupleObject *)values)->ob_item,
                               PyTuple_GET_SIZE(values)) < 0) {
        Py_CLEAR(entry);
    }
    Py_DECREF(values);
    if (entry == NULL) {
        return PyErr_Occurred() ? bcjit_clean_frame(ts, frame, cleanup) : bcjit_eval(below, ts, frame, 0);
    }
    arm->entry = entry;
    if (entry->code->co_argcount != arm->values->n ||
        entry->code->co_nfreevars != code->co_nfreevars ||
        (entry->code->co_flags & BCJIT_GENERATOR_FLAGS) || !bcjit_swap_code(ts, frame, entry->code)) {
        arm->arrival = ARRIVED_CLEANED;
        return bcjit_clean_frame(ts, frame, cleanup);
    }
    arm->arrival = ARRIVED_SWAPPED;
    if (!entry->bails) {
        bcjit_values_clear(arm->values);
    }
    Held held;
    bcjit_hold(&held, entry, arm->values);
    PyObject *result = bcjit_eval(below, ts, frame, 0);
    bcjit_let_go(&held);
    return result;
}

static PyObject *evaluate(PyThreadState *ts, bcjit_frame *frame, int throwflag)
{
    Arm *arm = armed;
    if (BCJIT_LIKELY(arm == NULL) || throwflag || arm->caller != bcjit_current_frame(ts) ||
        !bcjit_frame_owned_by_thread(frame) || bcjit_frame_code(frame) != arm->code ||
        !bcjit_frame_is_fresh(frame)) {
        return bcjit_watch_is_on() ? bcjit_watched(ts, frame, throwflag, previous)
                                   : bcjit_eval(previous, ts, frame, throwflag);
    }
    _PyFrameEvalFunction below = previous;
    forget(ts, arm);
    if (arm->kind == ARM_CAPTURE) {
        return captured(ts, frame, arm, below);
    }
    arm->arrival = ARRIVED_PLAIN;
    bcjit_values_clear(arm->values);        /* the frame has its own: nothing dies here */
    return bcjit_eval(below, ts, frame, 0);
}
