/* trial.c - whether an entry pays: some of its calls run the plain code instead, both are timed, the faster is kept.
 *
 * No call is made twice, and plain code is always right, so whatever is decided here the results are the same. The rules
 * and the figures are those of docs/design/0016-call-path-and-cost-model.md. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#  define _GNU_SOURCE
#endif
#include "core.h"
#include "guards.h"

#include <time.h>

#define RANGES 8                            /* range i > 0: 16^(i-1) to 16^i - 1 elements; the last: and more */
#define SHORT 20e-6                         /* seconds; below, the check of the guards is worth saving */
#define GUARDS 20e-9                        /* seconds that it takes, about */
#define AGAIN 64                            /* calls for each timed one until a verdict is tried again; then 4 times */
#define LONGEST (1 << 24)
#define STREAK 512                          /* plain calls one after another; then an eighth of them goes unchecked */
#define UNCHECKED 8192

enum { COMPILED, PLAIN };                   /* what ran; what is to run */

typedef struct {
    int turn;
    int samples[2];
    int dropped;                            /* calls in which others were being tried */
    double best[2];                         /* seconds */
    double worst[2];
} Times;

typedef struct {
    bool decided;                           /* no trial is going on */
    char verdict;                           /* of the last one */
    Times times;                            /* of this trial */
    Times known;                            /* of the last one */
    Py_ssize_t left;                        /* calls until it is tried again */
    Py_ssize_t pause;                       /* 0: there was no trial yet */
} Range;

typedef struct Trial {
    Range ranges[RANGES];
    int running;                            /* timed calls that have not returned */
} Trial;

static Py_ssize_t captures;                 /* a call during which this changed has compiled something */

static double tried;                        /* seconds of timed calls, but for those within timed ones */

void bcjit_trial_captured(void) { captures++; }

static double seconds_of(struct timespec time)
{
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static PyObject *test_clock;                  /* of tests; or NULL */

static double told_time(int ran)
{
    PyObject *told = PyObject_CallOneArg(test_clock, ran == PLAIN ? Py_True : Py_False);
    double seconds = told == NULL ? -1.0 : PyFloat_AsDouble(told);
    Py_XDECREF(told);
    PyErr_Clear();
    return seconds;
}

static double wall_time(int ran)
{
    if (BCJIT_UNLIKELY(test_clock != NULL)) {
        return told_time(ran);
    }
    struct timespec time;
#ifdef _WIN32
    timespec_get(&time, TIME_UTC);
#else
    clock_gettime(CLOCK_MONOTONIC, &time);
#endif
    return seconds_of(time);
}

/* Of this thread: long calls are interrupted by other programs. Where there is no such clock, 0. */
static double work_time(void)
{
#if defined(_WIN32) || !defined(CLOCK_THREAD_CPUTIME_ID)
    return 0.0;
#else
    struct timespec time;
    bool known = test_clock == NULL && clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0;
    return known ? seconds_of(time) : 0.0;
#endif
}

Trial *bcjit_trial_new(void) { return PyMem_Calloc(1, sizeof(Trial)); }

void bcjit_trial_free(Trial *trial) { PyMem_Free(trial); }

/* ---- the rules ------------------------------------------------------------------------------- */

/* By the largest array among the arguments (those that later parts use too) and among what the first part uses. */
static Range *range_of(Trial *trial, Entry *entry, PyObject *const *values, Py_ssize_t n)
{
    Py_ssize_t largest = bcjit_guards_largest(entry->guards);
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_ssize_t size = bcjit_array_elements(values[i]);
        largest = Py_MAX(largest, size);
    }
    int range = 0;
    for (; largest > 0 && range < RANGES - 1; range++) {
        largest >>= 4;
    }
    return &trial->ranges[range];
}

/* As often the one as the other in the first 8, 12, 16 and 32 turns; and of every third call both within 7 turns, of every
 * fourth within 11, of every fifth within 16, wherever one begins: programs call in rounds. (The Thue-Morse sequence is the
 * same at every third turn up to the nineteenth.) */
#define ORDER 0x5c39a3c6u

static int in_turn(int turn) { return (int)((ORDER >> (turn & 31)) & 1u) ^ (turn >> 5 & 1); }

/* Pairs of calls that settle a close case, for calls that take so long. */
static int pairs_for(double seconds)
{
    return seconds >= 1e-3 ? 4 : seconds >= SHORT ? 6 : 16;
}

/* Whether calls of one side differ so much that the least of both sides may be of different work: unless all of one are
 * below all of the other. */
static bool is_mixed(const Times *times)
{
    const double *best = times->best, *worst = times->worst;
    bool apart = worst[COMPILED] < best[PLAIN] || worst[PLAIN] < best[COMPILED];
    return !apart && (worst[COMPILED] > 1.5 * best[COMPILED] || worst[PLAIN] > 1.5 * best[PLAIN]);
}

static bool is_settled(const Times *times)
{
    const double *best = times->best;
    int pairs = Py_MIN(times->samples[COMPILED], times->samples[PLAIN]);
    int calls = times->samples[COMPILED] + times->samples[PLAIN];
    if (pairs == 0) {
        return false;
    }
    double least = Py_MIN(best[COMPILED], best[PLAIN]), most = Py_MAX(best[COMPILED], best[PLAIN]);
    int enough = pairs_for(least);
    if (is_mixed(times)) {
        return pairs >= Py_MIN(2 * enough, 16);
    }
    if (least < 1e-3) {
        return pairs >= enough || (pairs >= 4 && most >= 1.5 * least);
    }
    /* The calls of two pairs may all be of different work, but a very long one is not run plain twice. */
    return pairs >= enough || (pairs >= 2 && calls > 4 && most >= 1.25 * least)
           || (least >= 0.1 && best[PLAIN] >= 2.0 * best[COMPILED]);
}

static void decide(Range *range)
{
    const Times *times = &range->times;
    Py_ssize_t timed = times->samples[COMPILED] + times->samples[PLAIN];
    range->decided = true;
    range->verdict = times->best[COMPILED] + GUARDS > 1.02 * times->best[PLAIN] ? PLAIN : COMPILED;
    range->known = *times;
    range->times = (Times){0};
    range->pause = range->pause == 0 ? AGAIN * timed : Py_MIN(range->pause * 4, LONGEST);
    range->left = range->pause;
}

static void add_sample(Range *range, int ran, double seconds)
{
    if (range->decided) {
        return;                             /* another thread has */
    }
    Times *times = &range->times;
    if (times->samples[ran] == 0 || seconds < times->best[ran]) {
        times->best[ran] = seconds;
    }
    times->worst[ran] = Py_MAX(times->worst[ran], seconds);
    times->samples[ran]++;
    if (is_settled(times)) {
        decide(range);
    }
}

/* Whether a call says nothing: what it called took some of its time, and ran as it did to be tried. Not for ever: what is
 * called may be tried for long. */
static bool is_dropped(Range *range, double seconds, double inner)
{
    if (inner <= 0.02 * seconds || range->decided
        || range->times.dropped >= 2 * pairs_for(seconds)) {
        return false;
    }
    range->times.dropped++;
    return true;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* A plain call more. Of a short function that was plain many times over, some calls are not even checked. */
static void count_plain(Part *part, Entry *entry, Range *range)
{
    part->plain_streak++;
    if (part->plain_streak >= STREAK && range->known.best[PLAIN] < SHORT) {
        part->unchecked = Py_MIN(part->plain_streak / 8, UNCHECKED);
        part->plain_streak += part->unchecked;
        entry->unchecked += part->unchecked;
        range->left -= Py_MIN(part->unchecked, range->left - 1);
    }
}

static bool has_verdict(Part *part, Entry *entry, Range *range, bool *plain)
{
    if (BCJIT_UNLIKELY(!entry->plain && range->decided && --range->left <= 0)) {
        range->decided = false;             /* it is tried again */
    }
    if (BCJIT_UNLIKELY(!entry->plain && !range->decided)) {
        return false;
    }
    *plain = entry->plain || range->verdict == PLAIN;
    if (*plain) {
        count_plain(part, entry, range);
    }
    else {
        part->plain_streak = 0;
    }
    return true;
}

static bool choose(Part *part, Entry *entry, PyObject *const *values, Py_ssize_t n, Sample *sample)
{
    Trial *trial = entry->trial;
    Range *range = range_of(trial, entry, values, n);
    bool plain;
    sample->trial = NULL;
    if (BCJIT_LIKELY(has_verdict(part, entry, range, &plain))) {
        return plain;
    }
    if (range->pause == 0) {
        part->plain_streak = 0;             /* nothing is known of these sizes */
    }
    if (trial->running > 0) {
        return range->verdict == PLAIN;     /* within one of its own calls */
    }
    trial->running++;
    sample->trial = trial;
    sample->range = (int)(range - trial->ranges);
    sample->ran = in_turn(range->times.turn++);
    sample->captures = captures;
    sample->tried = tried;
    sample->work = work_time();
    sample->start = wall_time(sample->ran);
    return sample->ran == PLAIN;
}

bool bcjit_trial_begin(Part *part, Entry *entry, PyObject *const *values, Py_ssize_t n,
                       Sample *sample)
{
    bool plain = choose(part, entry, values, n, sample);
    entry->plain_hits += plain && !entry->plain;
    return plain;
}

void bcjit_trial_end(Sample *sample, bool returned)
{
    if (BCJIT_LIKELY(sample->trial == NULL)) {
        return;
    }
    sample->trial->running--;
    if (returned && captures == sample->captures) {
        double seconds = wall_time(sample->ran) - sample->start;
        double work = work_time() - sample->work;
        seconds = seconds >= SHORT && work > 0.0 ? work : seconds;
        Range *range = &sample->trial->ranges[sample->range];
        double inner = tried - sample->tried;
        tried = sample->tried + seconds;
        if (!is_dropped(range, seconds, inner)) {
            add_sample(range, sample->ran, seconds);
        }
    }
}

/* ---- for Python ------------------------------------------------------------------------------ */

static PyObject *range_row(const Range *range, int i)
{
    Py_ssize_t low = i == 0 ? 0 : (Py_ssize_t)1 << (4 * (i - 1));
    Py_ssize_t high = i == RANGES - 1 ? -1 : ((Py_ssize_t)1 << (4 * i)) - 1;
    const Times *known = &range->known;
    return Py_BuildValue("(nnOddii)", low, high, range->verdict == PLAIN ? Py_True : Py_False,
                         known->best[PLAIN], known->best[COMPILED], known->samples[PLAIN],
                         known->samples[COMPILED]);
}

PyObject *bcjit_trial_verdicts(const Trial *trial)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && trial != NULL && i < RANGES; i++) {
        if (trial->ranges[i].pause > 0) {
            PyObject *row = range_row(&trial->ranges[i], i);
            if (row == NULL || PyList_Append(list, row) < 0) {
                Py_CLEAR(list);
            }
            Py_XDECREF(row);
        }
    }
    PyObject *tuple = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

PyObject *bcjit_set_clock(PyObject *Py_UNUSED(module), PyObject *new_clock)
{
    Py_XSETREF(test_clock, new_clock == Py_None ? NULL : Py_NewRef(new_clock));
    Py_RETURN_NONE;
}

/* For tests: what is decided of these seconds, asked for in the trial's own order; (plain?, samples of compiled, of plain). */
PyObject *bcjit_judge_samples(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *compiled, *plain;
    if (!PyArg_ParseTuple(args, "O!O!:judge_samples", &PyTuple_Type, &compiled, &PyTuple_Type,
                          &plain)) {
        return NULL;
    }
    PyObject *given[] = {compiled, plain};
    Range range = {0};
    while (!range.decided) {
        int ran = in_turn(range.times.turn++);
        if (range.times.samples[ran] >= PyTuple_GET_SIZE(given[ran])) {
            Py_RETURN_NONE;
        }
        double seconds = PyFloat_AsDouble(PyTuple_GET_ITEM(given[ran], range.times.samples[ran]));
        if (seconds == -1.0 && PyErr_Occurred()) {
            return NULL;
        }
        add_sample(&range, ran, seconds);
    }
    return Py_BuildValue("(Oii)", range.verdict == PLAIN ? Py_True : Py_False,
                         range.known.samples[COMPILED], range.known.samples[PLAIN]);
}
