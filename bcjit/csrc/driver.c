/* driver.c - runs a part and, while its code hands back a next one, the next; they never nest.
 *
 * What an entry's code returns is the function's value (entry.returns) or a tuple
 * (next_part, closure_or_None, value...). Error handling keeps one promise: plain code that runs
 * after a failed graph finds the interpreter as if the graph had never been tried.
 */
#include "core.h"
#include <frameobject.h>

/* ---- State ----------------------------------------------------------------------------------- */

int bcjit_state_init(State *state, Part *part, PyObject *closure, PyObject *const *values,
                     Py_ssize_t n)
{
    if (bcjit_values_init(&state->values, values, n) < 0) {
        return -1;
    }
    state->part = (Part *)Py_NewRef((PyObject *)part);
    state->closure = Py_XNewRef(closure);
    return 0;
}

void bcjit_state_clear(State *state)
{
    bcjit_values_clear(&state->values);
    Py_CLEAR(state->closure);
    Py_CLEAR(state->part);
}

/* Fills a cleared state from (part, closure_or_None, value...). */
static int state_load(State *state, PyObject *tuple)
{
    if (BCJIT_UNLIKELY(!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) < 2 ||
                       !Py_IS_TYPE(PyTuple_GET_ITEM(tuple, 0), &BcjitPart_Type))) {
        PyErr_Format(PyExc_SystemError,
                     "bcjit: a part must hand back (Part, closure or None, value...), not %.200R",
                     tuple);
        return -1;
    }
    PyObject *closure = PyTuple_GET_ITEM(tuple, 1);
    if (BCJIT_UNLIKELY(closure != Py_None && !PyTuple_CheckExact(closure))) {
        PyErr_SetString(PyExc_SystemError, "bcjit: a part's closure must be a tuple or None");
        return -1;
    }
    return bcjit_state_init(state, (Part *)PyTuple_GET_ITEM(tuple, 0),
                            closure == Py_None ? NULL : closure,
                            ((PyTupleObject *)tuple)->ob_item + 2, PyTuple_GET_SIZE(tuple) - 2);
}

/* ---- one part -------------------------------------------------------------------------------- */

/* An exception that struck in the middle of our work has ours as its context: in its place comes what
 * the program was handling. */
static void mend_context(PyThreadState *ts, PyObject *exc)
{
    PyObject *handled = *bcjit_handled_exception(ts);
    PyObject *held = Py_NewRef(exc), *context;
    while ((context = PyException_GetContext(held)) != NULL && context != handled) {
        PyObject *elsewhere = bcjit_foreign_traceback(context, Py_None);
        if (elsewhere == NULL) {
            PyErr_Clear();
        }
        bool ours = elsewhere == NULL || elsewhere == Py_None;
        Py_XDECREF(elsewhere);
        if (ours) {
            PyException_SetContext(held, handled == exc ? NULL : Py_XNewRef(handled));
            Py_CLEAR(context);
            break;
        }
        Py_SETREF(held, context);
    }
    Py_XDECREF(context);
    Py_DECREF(held);
}

/* With the error of a callback set: one that the program has raised (in a signal handler) goes on,
 * without our frames; where there was no stack or memory for a dispensable one it is cleared. */
static void callback_error(PyThreadState *ts, bool dispensable)
{
    PyObject *type, *exc, *traceback;
    PyErr_Fetch(&type, &exc, &traceback);
    PyErr_NormalizeException(&type, &exc, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(exc, traceback);
    }
    PyObject *elsewhere = bcjit_foreign_traceback(exc, Py_None);
    if (elsewhere == NULL) {
        PyErr_Clear();
    }
    bool ours = elsewhere == NULL || elsewhere == Py_None;
    if (ours && dispensable &&
        (PyErr_GivenExceptionMatches(type, PyExc_RecursionError) ||
         PyErr_GivenExceptionMatches(type, PyExc_MemoryError))) {
        Py_DECREF(type);
        Py_DECREF(exc);
        Py_XDECREF(traceback);
        Py_XDECREF(elsewhere);
        return;
    }
    if (!ours) {
        Py_XSETREF(traceback, Py_NewRef(elsewhere));
        mend_context(ts, exc);
    }
    else if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
        Py_CLEAR(traceback);                /* KeyboardInterrupt: it struck at the call */
        PyException_SetTraceback(exc, Py_None);
        mend_context(ts, exc);
    }
    Py_XDECREF(elsewhere);
    PyErr_Restore(type, exc, traceback);
}

PyObject *bcjit_call_back(PyObject *callback, PyObject *const *args, size_t n, bool dispensable)
{
    PyThreadState *ts = PyThreadState_Get();
    PyObject *handled = Py_XNewRef(*bcjit_handled_exception(ts));
    PyObject *called = Py_NewRef(callback);
    bcjit_pause_watch(ts);
    PyObject *result = PyObject_Vectorcall(called, args, n, NULL);
    PyObject **now = bcjit_handled_exception(ts);
    if (BCJIT_UNLIKELY(*now != handled)) {  /* it was interrupted at the edge of an except block */
        Py_XSETREF(*now, Py_XNewRef(handled));
    }
    if (result == NULL) {
        callback_error(ts, dispensable);
    }
    bcjit_resume_watch(ts);
    Py_DECREF(called);
    Py_XDECREF(handled);
    return result;
}

Entry *bcjit_miss(Part *part, PyObject *func, PyObject *closure, PyObject *values)
{
    PyObject *const *items = ((PyTupleObject *)values)->ob_item;
    Py_ssize_t n = PyTuple_GET_SIZE(values);
    /* Since the caller looked, finalizers may have run, and other threads while they did. */
    Entry *found = bcjit_part_hit(part, items, n, func, closure);
    if (found != NULL) {
        return found;
    }
    if (part->on_miss == NULL || bcjit_part_is_busy(part)) {
        return NULL;
    }
    PyObject *args[] = {(PyObject *)part, func, closure == NULL ? Py_None : closure, values};
    part->busy = bcjit_process_number;
    bcjit_trial_captured();
    PyObject *entry = bcjit_call_back(part->on_miss, args, 4, true);
    part->busy = 0;
    if (entry == NULL) {
        return NULL;
    }
    if (entry == Py_None) {
        Py_DECREF(entry);
        return NULL;
    }
    if (!Py_IS_TYPE(entry, &BcjitEntry_Type) || ((Entry *)entry)->code == NULL) {
        PyErr_Format(PyExc_TypeError, "on_miss must return an Entry or None, not %.100s",
                     Py_TYPE(entry)->tp_name);
        Py_DECREF(entry);
        return NULL;
    }
    /* What was seen while compiling may be otherwise by now: then the entry is for another time. */
    if (bcjit_guards_check(((Entry *)entry)->guards, items, n, func, closure) >= 0) {
        Py_DECREF(entry);
        return NULL;
    }
    return (Entry *)entry;
}

static Surroundings around_of(PyObject *func, PyObject *closure)
{
    PyFunctionObject *f = (PyFunctionObject *)func;
    return (Surroundings){f->func_globals, f->func_builtins, closure};
}

static BCJIT_THREAD_LOCAL Held *held_top;

void bcjit_hold(Held *held, Entry *entry, Values *values)
{
    *held = (Held){held_top, entry->graph_call, values};
    held_top = held;
}

void bcjit_let_go(Held *held) { held_top = held->outer; }

void bcjit_graph_succeeded(PyObject *graph_call)
{
    Held *held = held_top;
    if (held != NULL && held->graph_call == graph_call && held->values != NULL) {
        bcjit_values_clear(held->values);
    }
}

/* Adds the entry's code to the traceback of an exception that goes on to the program. */
static void add_to_traceback(PyThreadState *ts, Entry *entry, PyObject *globals)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyFrameObject *frame = PyFrame_New(ts, entry->code, globals, NULL);
    PyErr_Restore(type, value, traceback);
    if (frame != NULL) {
        PyTraceBack_Here(frame);
        Py_DECREF(frame);
    }
}

/* What the entry's code would do, without a frame for it: call the graph, return its only output. */
static PyObject *run_direct(PyThreadState *ts, Entry *entry, PyObject *func,
                            PyObject *const *values)
{
    PyObject *chosen[BCJIT_SMALL_VALUES];
    PyObject *const *args = values;
    if (entry->direct != NULL) {
        for (Py_ssize_t i = 0; i < entry->n_direct; i++) {
            chosen[i] = values[entry->direct[i]];
        }
        args = chosen;
    }
    PyObject *result = bcjit_call_graph(entry->graph_call, args, entry->n_direct);
    if (BCJIT_UNLIKELY(result == NULL) && !bcjit_is_bailout()) {
        add_to_traceback(ts, entry, ((PyFunctionObject *)func)->func_globals);
    }
    return result;
}

/* The outputs, as the graph gives them, and the literals, by one number. */
static PyObject *given(const HandOver *hand_over, PyObject *outputs, bool single, Py_ssize_t i)
{
    if (i < hand_over->n_outputs) {
        return single ? outputs : PyTuple_GET_ITEM(outputs, i);
    }
    return PyTuple_GET_ITEM(hand_over->literals, i - hand_over->n_outputs);
}

static void take_side(const HandOver *hand_over, const Side *side, PyObject *const *values,
                      PyObject *outputs, bool single, State *next)
{
    next->part = (Part *)Py_NewRef(side->part);
    next->closure = NULL;
    next->values.items = next->values.small;
    next->values.n = side->n;
    for (Py_ssize_t i = 0; i < side->n; i++) {
        Py_ssize_t place = side->places[i];
        next->values.small[i] = Py_NewRef(
            place >= 0 ? values[place] : given(hand_over, outputs, single, -1 - place));
    }
}

bool bcjit_hand_over(PyThreadState *ts, Entry *entry, PyObject *func, PyObject *const *values,
                     State *next)
{
    const HandOver *hand_over = entry->hand_over;
    PyObject *arguments[BCJIT_SMALL_VALUES];
    for (Py_ssize_t i = 0; i < hand_over->n_arguments; i++) {
        arguments[i] = values[hand_over->arguments[i]];
    }
    int token = bcjit_enter_call(ts);
    if (token < 0) {
        return false;
    }
    PyObject *outputs = bcjit_run_graph(entry->graph_call, arguments, hand_over->n_arguments);
    bcjit_leave_call(ts, token);
    if (BCJIT_UNLIKELY(outputs == NULL)) {
        if (!bcjit_is_bailout()) {
            add_to_traceback(ts, entry, ((PyFunctionObject *)func)->func_globals);
        }
        return false;
    }
    bool single = bcjit_graph_is_single(entry->graph_call);
    if (!single && BCJIT_UNLIKELY(!PyTuple_CheckExact(outputs) ||
                                  PyTuple_GET_SIZE(outputs) != hand_over->n_outputs)) {
        PyErr_Format(PyExc_ValueError, "bcjit: a graph must return a tuple of %zd outputs, not %.100R",
                     hand_over->n_outputs, outputs);
        Py_DECREF(outputs);
        return false;
    }
    int chosen = hand_over->test < 0
                     ? 1
                     : PyObject_IsTrue(given(hand_over, outputs, single, hand_over->test));
    if (chosen < 0) {
        bcjit_bail_out_of(entry->graph_call);
    }
    else {
        take_side(hand_over, &hand_over->sides[chosen ? 0 : 1], values, outputs, single, next);
    }
    Py_DECREF(outputs);
    return chosen >= 0;
}

PyObject *bcjit_entry_run(PyThreadState *ts, Entry *entry, PyObject *func, PyObject *closure,
                          PyObject *const *values, Py_ssize_t n, Values *held_values)
{
    Surroundings around = around_of(func, closure);
    if (held_values != NULL && !entry->bails) {
        return bcjit_run_code(&entry->function, entry->code, &around, held_values);
    }
    if (entry->n_direct >= 0 && !bcjit_profiling_active(ts)) {
        int token = bcjit_enter_call(ts);
        if (token < 0) {
            return NULL;
        }
        PyObject *result = run_direct(ts, entry, func, values);
        bcjit_leave_call(ts, token);
        return result;
    }
    PyFunctionObject *function = bcjit_function_take(&entry->function, entry->code, &around);
    if (function == NULL) {
        return NULL;
    }
    PyObject *result = NULL;
    int token = bcjit_enter_call(ts);
    if (token >= 0) {
        Held held;
        bool holds = entry->graph_call != NULL;     /* even nothing: an outer run's is not meant */
        if (holds) {
            bcjit_hold(&held, entry, held_values);
        }
        bcjit_watch_expect(entry->code);
        result = function->vectorcall((PyObject *)function, values, (size_t)n, NULL);
        if (holds) {
            bcjit_let_go(&held);
        }
        bcjit_leave_call(ts, token);
    }
    bcjit_function_give(&entry->function, function);
    return result;
}

/* Runs the plain code of the state's part; clears the state. */
static PyObject *run_plain_state(State *state, PyObject *func)
{
    PyObject *result = NULL;
    PyCodeObject *code = bcjit_part_positional_code(state->part);
    if (code != NULL) {
        Surroundings around = around_of(func, state->closure);
        result = bcjit_run_code(&state->part->function, code, &around, &state->values);
    }
    bcjit_state_clear(state);
    return result;
}

/* ---- a failed graph -------------------------------------------------------------------------- */

static PyObject *take_bailout(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback != NULL && value != NULL) {
        PyException_SetTraceback(value, traceback);
    }
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

PyObject *bcjit_bail_out(Entry *entry, State *state, PyObject *func, PyObject *handled)
{
    PyObject **current = bcjit_handled_exception(PyThreadState_Get());
    PyObject *exc = take_bailout();
    if (*current != handled) {      /* the residual code had entered an except block */
        Py_XSETREF(*current, Py_XNewRef(handled));
    }
    PyObject *values = bcjit_values_tuple(state->values.items, state->values.n);
    if (exc == NULL || values == NULL) {
        Py_XDECREF(exc);
        Py_XDECREF(values);
        bcjit_state_clear(state);
        return NULL;
    }
    if (!entry->bails || entry->on_bailout == NULL) {
        PyErr_SetString(PyExc_SystemError, "bcjit: an entry bailed out that cannot: its graph is "
                                           "no constant of its code");
        Py_DECREF(exc);
        Py_DECREF(values);
        bcjit_state_clear(state);
        return NULL;
    }
    entry->bailouts++;
    PyObject *args[] = {(PyObject *)entry, func,
                        state->closure == NULL ? Py_None : state->closure, values, exc};
    PyObject *where = bcjit_call_back(entry->on_bailout, args, 5, false);
    Py_DECREF(values);
    Py_DECREF(exc);                 /* with the frames of the failed graph, before any code runs */
    if (where == Py_None) {
        Py_DECREF(where);
        return run_plain_state(state, func);
    }
    bcjit_state_clear(state);
    int failed = where == NULL ? -1 : state_load(state, where);
    Py_XDECREF(where);
    return failed < 0 ? NULL : run_plain_state(state, func);
}

PyObject *bcjit_after_entry(Part *part, PyObject *func, Entry *entry, PyObject *result,
                            PyObject *const *values, Py_ssize_t n, Values *owned, PyObject *handled)
{
    if (result == NULL && !bcjit_is_bailout()) {
        return NULL;
    }
    State state;
    PyObject *closure = ((PyFunctionObject *)func)->func_closure;
    if (result == NULL && bcjit_state_init(&state, part, closure, values, n) < 0) {
        return NULL;
    }
    if (owned != NULL) {
        bcjit_values_clear(owned);
    }
    if (result == NULL) {
        return bcjit_bail_out(entry, &state, func, handled);
    }
    return entry->returns ? result : bcjit_follow(result, func);
}

PyObject *bcjit_follow(PyObject *next, PyObject *func)
{
    State state;
    int failed = state_load(&state, next);
    Py_DECREF(next);
    return failed < 0 ? NULL : bcjit_drive_state(&state, func);
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* The entry to run for this state (owned), or NULL: an error is set, or plain code is to run. */
static Entry *entry_for(PyThreadState *ts, State *state, PyObject *func)
{
    Part *part = state->part;
    PyObject *const *values = state->values.items;
    Py_ssize_t n = state->values.n;
    if (part->skip || bcjit_tracing_active(ts)) {
        return NULL;
    }
    Entry *entry = bcjit_part_hit(part, values, n, func, state->closure);
    if (entry == NULL) {
        part->misses++;
        if (part->on_miss == NULL || bcjit_part_is_busy(part)) {
            return NULL;
        }
        PyObject *tuple = bcjit_values_tuple(values, n);
        entry = tuple == NULL ? NULL : bcjit_miss(part, func, state->closure, tuple);
        Py_XDECREF(tuple);
    }
    if (entry != NULL && entry->plain) {
        Py_CLEAR(entry);
    }
    return entry;
}

#define TURNS 256

/* Between parts that C hands over no Python code may run at all, where plain Python would look at a loop's turn whether
 * something waits: a signal's handler, another thread. false with the handler's error set. */
static bool let_others_run(PyThreadState *ts, Entry *entry, PyObject *func)
{
    static BCJIT_THREAD_LOCAL int turns;
    if (BCJIT_UNLIKELY(++turns >= TURNS)) {
        turns = 0;
        Py_BEGIN_ALLOW_THREADS
        Py_END_ALLOW_THREADS
    }
    if (BCJIT_UNLIKELY(PyErr_CheckSignals() < 0)) {
        add_to_traceback(ts, entry, ((PyFunctionObject *)func)->func_globals);
        return false;
    }
    return true;
}

/* The next state takes the place of one whose part is done. */
static void replace_state(State *state, State *next)
{
    bcjit_state_clear(state);               /* finalizers may run */
    state->part = next->part;
    state->closure = next->closure;
    state->values.n = next->values.n;
    memcpy(state->values.small, next->values.small, (size_t)next->values.n * sizeof(PyObject *));
}

/* One part. true: the state is that of the next one; false: the state is cleared, and *result is what
 * the call gives. */
static bool step(PyThreadState *ts, Entry *entry, State *state, PyObject *func, PyObject **result)
{
    PyObject *handled = Py_XNewRef(*bcjit_handled_exception(ts));
    bool goes_on;
    if (entry->hand_over != NULL && !bcjit_profiling_active(ts)) {
        State next;
        goes_on = bcjit_hand_over(ts, entry, func, state->values.items, &next);
        *result = NULL;
        if (BCJIT_LIKELY(goes_on)) {
            replace_state(state, &next);
            Py_XDECREF(handled);
            if (BCJIT_LIKELY(let_others_run(ts, entry, func))) {
                return true;
            }
            bcjit_state_clear(state);
            return false;
        }
    }
    else {
        *result = bcjit_entry_run(ts, entry, func, state->closure, state->values.items,
                                  state->values.n, &state->values);
        goes_on = *result != NULL && !entry->returns;
    }
    if (*result == NULL && bcjit_is_bailout()) {
        *result = bcjit_bail_out(entry, state, func, handled);
    }
    else {
        bcjit_state_clear(state);
    }
    Py_XDECREF(handled);
    if (goes_on) {
        PyObject *next = *result;
        goes_on = state_load(state, next) == 0;
        *result = NULL;
        Py_DECREF(next);
    }
    return goes_on;
}

PyObject *bcjit_drive_state(State *state, PyObject *func)
{
    PyThreadState *ts = PyThreadState_Get();
    for (;;) {
        Entry *entry = entry_for(ts, state, func);
        if (entry == NULL) {
            if (PyErr_Occurred()) {
                bcjit_state_clear(state);
                return NULL;
            }
            return run_plain_state(state, func);
        }
        PyObject *result;
        bool goes_on = step(ts, entry, state, func, &result);
        Py_DECREF(entry);
        if (!goes_on) {
            return result;
        }
    }
}

PyObject *bcjit_drive(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 4 || !Py_IS_TYPE(args[0], &BcjitPart_Type) || !PyFunction_Check(args[1]) ||
        !(args[2] == Py_None || PyTuple_CheckExact(args[2])) || !PyTuple_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError,
                        "drive takes a Part, a function, a tuple of cells or None, and a tuple");
        return NULL;
    }
    State state;
    if (bcjit_state_init(&state, (Part *)args[0], args[2] == Py_None ? NULL : args[2],
                         ((PyTupleObject *)args[3])->ob_item, PyTuple_GET_SIZE(args[3])) < 0) {
        return NULL;
    }
    return bcjit_drive_state(&state, args[1]);
}
