/* watch.c - while a whole script is watched, the evaluator stays and every fresh frame of a function
 * is run by the entries of its code, as a call through a dispatcher would be.
 *
 * Which code is taken is not decided here: a code object that nothing is known of is shown to the
 * chooser, whose answer is kept with the code. The watch pauses (the evaluator is taken back) while
 * we compile, since our own frames are of no interest, and below a number of nested frames, since
 * each nests an evaluator on the C stack where CPython nests none. */
#include "core.h"

#define DEEPEST 200

static PyObject *chooser;                           /* NULL: nothing is watched */
static Py_ssize_t pauses;                           /* of all threads */
static BCJIT_THREAD_LOCAL Py_ssize_t own_pauses;    /* those of this thread */
static BCJIT_THREAD_LOCAL Py_ssize_t depth;         /* frames of this thread that are in here */
static BCJIT_THREAD_LOCAL PyCodeObject *expected;   /* borrowed: see bcjit_watch_expect */

bool bcjit_watch_is_on(void) { return chooser != NULL && pauses == 0; }

void bcjit_watch_expect(PyCodeObject *code)
{
    if (BCJIT_UNLIKELY(chooser != NULL)) {
        expected = bcjit_watch_is_on() ? code : NULL;
    }
}

void bcjit_pause_watch(PyThreadState *ts)
{
    pauses++;
    own_pauses++;
    if (chooser != NULL) {
        bcjit_place_evaluator(ts);
    }
}

void bcjit_resume_watch(PyThreadState *ts)
{
    pauses--;
    own_pauses--;
    if (chooser != NULL) {
        bcjit_place_evaluator(ts);
    }
}

/* ---- one frame ------------------------------------------------------------------------------- */

typedef struct {
    PyThreadState *ts;
    bcjit_frame *frame;
    _PyFrameEvalFunction below;
    PyCodeObject *code;
    PyFunctionObject *func;                 /* owned: outlives the frame */
    Values values;
} Visit;

static PyObject *as_it_is(Visit *visit)
{
    bcjit_values_clear(&visit->values);
    return bcjit_eval(visit->below, visit->ts, visit->frame, 0);
}

/* The frame does not run: an error is set. */
static PyObject *failed(Visit *visit)
{
    PyObject *type, *exc, *traceback;
    PyErr_Fetch(&type, &exc, &traceback);
    bcjit_values_clear(&visit->values);
    PyCodeObject *cleanup = bcjit_cleanup_code(visit->code);
    if (cleanup == NULL) {                  /* no memory: the error is lost, the frame is not */
        PyErr_Clear();
        Py_XDECREF(type);
        Py_XDECREF(exc);
        Py_XDECREF(traceback);
        return as_it_is(visit);
    }
    PyErr_Restore(type, exc, traceback);
    PyObject *result = bcjit_clean_frame(visit->ts, visit->frame, cleanup);
    Py_DECREF(cleanup);
    return result;
}

static int take_arguments(Visit *visit)
{
    PyCodeObject *code = visit->code;
    PyObject *small[BCJIT_SMALL_VALUES], **items = small;
    int n = code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
            !!(code->co_flags & CO_VARKEYWORDS);
    if (n > BCJIT_SMALL_VALUES) {
        items = PyMem_New(PyObject *, n);
    }
    bool bound = items != NULL;
    for (int i = 0; bound && i < n; i++) {
        items[i] = bcjit_frame_local(visit->frame, i);
        bound = items[i] != NULL;
    }
    int status = bound ? bcjit_values_init(&visit->values, items, n) : -1;
    if (items != small) {
        PyMem_Free(items);
    }
    if (status < 0) {
        PyErr_Clear();
    }
    return status;
}

/* The part of the frame's code (owned), or NULL: an error is set, or the frame runs as it is. */
static Part *choose(Visit *visit)
{
    Watch *watch = bcjit_code_watch_made(visit->code);
    PyObject *values = bcjit_values_tuple(visit->values.items, visit->values.n);
    PyObject *asked = watch == NULL ? NULL : PyLong_FromSsize_t(watch->asked);
    PyObject *found = NULL;
    if (values != NULL && asked != NULL) {
        PyObject *args[] = {(PyObject *)visit->code, (PyObject *)visit->func, values, asked};
        found = bcjit_call_back(chooser, args, 4, true);
    }
    else {
        PyErr_Clear();
    }
    Py_XDECREF(asked);
    Py_XDECREF(values);
    if (found == NULL || watch->leave) {
        Py_XDECREF(found);
        return NULL;
    }
    if (found == Py_None) {
        watch->asked++;
    }
    else if (!Py_IS_TYPE(found, &BcjitPart_Type)) {
        watch->leave = true;
    }
    else if (watch->part == NULL) {
        watch->part = (Part *)Py_NewRef(found);
    }
    Py_DECREF(found);
    return (Part *)Py_XNewRef((PyObject *)watch->part);
}

/* The entry for the frame's arguments (owned), or NULL as above. */
static Entry *entry_for(Visit *visit, Part *part)
{
    PyObject *func = (PyObject *)visit->func, *closure = visit->func->func_closure;
    Entry *entry =
        bcjit_part_hit(part, visit->values.items, visit->values.n, func, closure);
    if (entry == NULL) {
        part->misses++;
        if (part->on_miss == NULL || part->busy) {
            return NULL;
        }
        PyObject *values = bcjit_values_tuple(visit->values.items, visit->values.n);
        entry = values == NULL ? NULL : bcjit_miss(part, func, closure, values);
        Py_XDECREF(values);
    }
    if (entry != NULL && entry->plain) {
        Py_CLEAR(entry);
    }
    return entry;
}

/* Runs the entry's code in the frame's place, and all that follows. */
static PyObject *replaced(Visit *visit, Part *part, Entry *entry)
{
    PyThreadState *ts = visit->ts;
    Values *values = &visit->values;
    PyObject *func = (PyObject *)visit->func, *closure = visit->func->func_closure;
    PyCodeObject *cleanup = bcjit_part_cleanup_code(part);
    if (cleanup == NULL) {
        PyErr_Clear();
        return as_it_is(visit);
    }
    PyObject *handled = Py_XNewRef(*bcjit_handled_exception(ts));
    PyObject *result;
    if (entry->code->co_argcount == values->n &&
        entry->code->co_nfreevars == visit->code->co_nfreevars &&
        !(entry->code->co_flags & BCJIT_GENERATOR_FLAGS) &&
        bcjit_swap_code(ts, visit->frame, entry->code)) {
        if (!entry->bails) {
            bcjit_values_clear(values);
        }
        Held held;
        bcjit_hold(&held, entry, values);
        result = bcjit_eval(visit->below, ts, visit->frame, 0);
        bcjit_let_go(&held);
        if (result == NULL ? bcjit_is_bailout() : !entry->returns) {
            bcjit_frame_forget_locals(visit->frame, result == NULL);
        }
    }
    else {
        result = bcjit_clean_frame(ts, visit->frame, cleanup);
        if (result != NULL) {
            bcjit_frame_forget_locals(visit->frame, true);
            Py_DECREF(result);
            result = bcjit_entry_run(ts, entry, func, closure, values->items, values->n, values);
        }
    }
    result = bcjit_after_entry(part, func, entry, result, values->items, values->n, values, handled);
    bcjit_values_clear(values);
    Py_XDECREF(handled);
    return result;
}

static PyObject *visited(Visit *visit, Part *part)
{
    if (part == NULL) {
        return PyErr_Occurred() ? failed(visit) : as_it_is(visit);
    }
    bool unchecked = part->unchecked > 0;
    part->unchecked -= unchecked;
    Entry *entry = part->skip || unchecked ? NULL : entry_for(visit, part);
    PyObject *result;
    if (entry == NULL) {
        result = PyErr_Occurred() ? failed(visit) : as_it_is(visit);
    }
    else {
        Sample sample = {NULL};
        bool plain = entry->trial != NULL && bcjit_trial_begin(part, entry, visit->values.items,
                                                               visit->values.n, &sample);
        result = plain ? as_it_is(visit) : replaced(visit, part, entry);
        bcjit_trial_end(&sample, result != NULL);
        Py_DECREF(entry);
    }
    Py_DECREF(part);
    return result;
}

/* Whether the frame could be run by entries; of which code nothing may be known yet. */
static bool is_eligible(PyThreadState *ts, bcjit_frame *frame, PyCodeObject *code, Watch *watch)
{
    const int function = CO_OPTIMIZED | CO_NEWLOCALS;
    return (watch == NULL || !(watch->leave || (watch->part != NULL && watch->part->skip))) &&
           (code->co_flags & (function | BCJIT_GENERATOR_FLAGS)) == function &&
           bcjit_frame_owned_by_thread(frame) && bcjit_frame_is_fresh(frame) &&
           !bcjit_tracing_active(ts);
}

static PyObject *look(PyThreadState *ts, bcjit_frame *frame, int throwflag,
                      _PyFrameEvalFunction below)
{
    PyCodeObject *code = bcjit_frame_code(frame);
    bool own = code == expected;
    expected = NULL;
    if (throwflag || own) {
        return bcjit_eval(below, ts, frame, throwflag);
    }
    Watch *watch = bcjit_code_watch(code);
    if (!is_eligible(ts, frame, code, watch)) {
        return bcjit_eval(below, ts, frame, 0);
    }
    Visit visit = {.ts = ts, .frame = frame, .below = below, .code = code};
    visit.func = (PyFunctionObject *)bcjit_frame_func(frame);
    if (take_arguments(&visit) < 0) {
        return bcjit_eval(below, ts, frame, 0);
    }
    Py_INCREF(visit.func);
    Part *part = watch != NULL && watch->part != NULL
                     ? (Part *)Py_NewRef((PyObject *)watch->part)
                     : choose(&visit);
    PyObject *result = visited(&visit, part);
    Py_DECREF(visit.func);
    return result;
}

PyObject *bcjit_watched(PyThreadState *ts, bcjit_frame *frame, int throwflag,
                        _PyFrameEvalFunction below)
{
    int token = bcjit_uncount_call(ts);
    PyObject *result;
    if (BCJIT_UNLIKELY(++depth == DEEPEST)) {
        bcjit_pause_watch(ts);
        result = bcjit_eval(below, ts, frame, throwflag);
        bcjit_resume_watch(ts);
    }
    else {
        result = look(ts, frame, throwflag, below);
    }
    depth--;
    bcjit_uncount_c_recursion(ts, -token);
    return result;
}

/* ---- on and off ------------------------------------------------------------------------------ */

PyObject *bcjit_watch(PyObject *Py_UNUSED(module), PyObject *new_chooser)
{
    if (new_chooser != Py_None && !PyCallable_Check(new_chooser)) {
        PyErr_SetString(PyExc_TypeError, "chooser must be callable or None");
        return NULL;
    }
    PyThreadState *ts = PyThreadState_Get();
    PyObject *old = chooser;
    chooser = new_chooser == Py_None ? NULL : Py_NewRef(new_chooser);
    expected = NULL;
    bcjit_place_evaluator(ts);
    if (old == NULL && bcjit_hook_installed(ts)) {
        bcjit_drop_traces(ts);
    }
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/* The other threads are gone, and their pauses with them. */
PyObject *bcjit_watch_forked(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    pauses = own_pauses;
    bcjit_place_evaluator(PyThreadState_Get());
    Py_RETURN_NONE;
}
