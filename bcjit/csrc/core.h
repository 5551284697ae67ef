/* core.h - the types of bcjit._core and what its C files call of each other; no version facts. */
#ifndef BCJIT_CORE_H
#define BCJIT_CORE_H

#include "compat.h"

#define BCJIT_LIKELY(x) __builtin_expect(!!(x), 1)
#define BCJIT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#if !defined(__GNUC__) && !defined(__clang__)
#  undef BCJIT_LIKELY
#  undef BCJIT_UNLIKELY
#  define BCJIT_LIKELY(x) (x)
#  define BCJIT_UNLIKELY(x) (x)
#endif
/* A few words for each thread. Every call reads them, and the general model of shared libraries asks the loader each
 * time; glibc keeps room for the small blocks of libraries loaded later (other C libraries do not). */
#if defined(_MSC_VER)
#  define BCJIT_THREAD_LOCAL __declspec(thread)
#elif defined(__GLIBC__)
#  define BCJIT_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
#  define BCJIT_THREAD_LOCAL _Thread_local
#endif

/* ---- guards.c -------------------------------------------------------------------------------- */
extern PyTypeObject BcjitGuardTree_Type;
int bcjit_guards_init(PyObject *module);
/* -1 when every guard holds, else the index of the first that fails; never raises. */
Py_ssize_t bcjit_guards_check(PyObject *tree, PyObject *const *values, Py_ssize_t nvalues,
                              PyObject *func, PyObject *closure);

/* From now on the tree keeps how many elements the largest array has that it guards; what it was at the last check that
 * held, to be asked before anything else runs. */
void bcjit_guards_measure(PyObject *tree);
Py_ssize_t bcjit_guards_largest(PyObject *tree);

/* ---- values.c: owned values on their way into a part ----------------------------------------- */
#define BCJIT_SMALL_VALUES 24
typedef struct {
    Py_ssize_t n;
    PyObject **items;                       /* small, or memory of its own */
    PyObject *small[BCJIT_SMALL_VALUES];
} Values;

int bcjit_values_init(Values *values, PyObject *const *items, Py_ssize_t n);
void bcjit_values_clear(Values *values);
PyObject *bcjit_values_tuple(PyObject *const *items, Py_ssize_t n);

/* ---- part.c: Entry and Part ------------------------------------------------------------------ */
typedef struct {                            /* a part that an entry leads to, and its values */
    PyObject *part;                         /* borrowed from the entry's hand_over */
    Py_ssize_t n;
    Py_ssize_t places[BCJIT_SMALL_VALUES];  /* of values; -1 - i: output i, and behind those literal i */
} Side;

typedef struct {                            /* what an entry's code does, where C does it */
    Py_ssize_t n_arguments;
    Py_ssize_t arguments[BCJIT_SMALL_VALUES];
    Py_ssize_t n_outputs;
    Py_ssize_t test;                        /* the output that chooses the side; -1: there is one side */
    Side sides[2];                          /* where it is true, where it is false */
    PyObject *literals;                     /* tuple, borrowed likewise */
} HandOver;

typedef struct {
    PyObject_HEAD
    PyObject *guards;                       /* GuardTree */
    PyCodeObject *code;
    PyObject *on_bailout;                   /* or NULL */
    PyObject *graph_call;                   /* the only GraphCall of code, borrowed; or NULL */
    char bails;                             /* code has a GraphCall, so a run may bail out */
    Py_ssize_t n_direct;                    /* code does nothing but return the graph's only output
                                               for these values; -1: it does more */
    Py_ssize_t *direct;                     /* their places; NULL: the first ones, in order */
    PyObject *tag;
    PyFunctionObject *function;             /* spare function of code, without a closure; or NULL */
    Py_ssize_t hits;
    Py_ssize_t plain_hits;                  /* of those, calls that ran plain as the cost model wanted */
    Py_ssize_t unchecked;                   /* calls that ran plain without a look at the guards */
    Py_ssize_t bailouts;
    char returns;
    char plain;
    struct Trial *trial;                    /* NULL: it is used whether it pays or not */
    HandOver *hand_over;                    /* NULL: the code is run */
    PyObject *hand_over_spec;               /* owns what is in it; or NULL */
    PyObject *weakrefs;
} Entry;

typedef struct {
    PyObject_HEAD
    PyCodeObject *plain_code;
    PyCodeObject *positional_code;          /* plain_code of bound arguments; made when needed */
    PyCodeObject *cleanup_code;             /* see hook.c; made when needed */
    PyFunctionObject *function;             /* spare function of positional_code; or NULL */
    PyObject *on_miss;                      /* NULL: never compile */
    PyObject *tag;
    Entry **entries;                        /* most recently used first */
    Py_ssize_t n_entries;
    Py_ssize_t misses;
    char skip;
    Py_ssize_t plain_streak;                /* see trial.c */
    Py_ssize_t unchecked;                   /* calls that run plain without a look at the guards */
    Py_ssize_t busy;                        /* see bcjit_part_is_busy */
    PyObject *weakrefs;
} Part;

extern PyTypeObject BcjitEntry_Type;
extern PyTypeObject BcjitPart_Type;
/* The first entry whose guards hold (new reference); NULL when none does; no error. */
Entry *bcjit_part_find(Part *part, PyObject *const *values, Py_ssize_t n, PyObject *func,
                       PyObject *closure);
/* The same, counted as a hit and moved to the front. */
Entry *bcjit_part_hit(Part *part, PyObject *const *values, Py_ssize_t n, PyObject *func,
                      PyObject *closure);
/* Whether on_miss is running, in this process: a fork copies the mark, but not the thread that would
 * take it off. */
extern Py_ssize_t bcjit_process_number;
static inline bool bcjit_part_is_busy(const Part *part)
{
    return part->busy == bcjit_process_number;
}
PyObject *bcjit_after_fork(PyObject *module, PyObject *unused);
PyCodeObject *bcjit_part_positional_code(Part *part);
PyCodeObject *bcjit_part_cleanup_code(Part *part);
PyCodeObject *bcjit_cleanup_code(PyCodeObject *code);

/* ---- trial.c: whether an entry pays ----------------------------------------------------------- */
typedef struct {                            /* a call that may be timed */
    struct Trial *trial;                    /* NULL: it is not */
    int range;
    int ran;
    Py_ssize_t captures;
    double tried;
    double start;
    double work;
} Sample;

struct Trial *bcjit_trial_new(void);        /* NULL without memory, no error set */
void bcjit_trial_free(struct Trial *trial);
/* Before a call of a whole function through an entry with a trial: whether it is to run the plain code. */
bool bcjit_trial_begin(Part *part, Entry *entry, PyObject *const *values, Py_ssize_t n,
                       Sample *sample);
void bcjit_trial_end(Sample *sample, bool returned);    /* while the entry is owned */
void bcjit_trial_captured(void);
PyObject *bcjit_trial_verdicts(const struct Trial *trial);
PyObject *bcjit_judge_samples(PyObject *module, PyObject *args);
PyObject *bcjit_set_clock(PyObject *module, PyObject *clock);

/* ---- run.c: code run as a function on values ------------------------------------------------- */
typedef struct {                            /* what a function has besides its code */
    PyObject *globals;
    PyObject *builtins;                     /* NULL: those of globals */
    PyObject *closure;                      /* tuple of cells, or NULL */
} Surroundings;

extern PyTypeObject BcjitResumed_Type;
extern PyTypeObject BcjitCompleted_Type;     /* completed.c */
PyFunctionObject *bcjit_function_take(PyFunctionObject **spare, PyCodeObject *code,
                                      const Surroundings *around);
void bcjit_function_give(PyFunctionObject **spare, PyFunctionObject *function);
/* Runs code on the values and gives the references up as soon as its frame owns them. */
PyObject *bcjit_run_code(PyFunctionObject **spare, PyCodeObject *code, const Surroundings *around,
                         Values *values);
PyObject *bcjit_run_plain(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* ---- hook.c: the evaluator ------------------------------------------------------------------- */
typedef enum { ARM_CAPTURE, ARM_RELEASE } ArmKind;
typedef enum {
    ARRIVED_NOT,                            /* the frame has not come */
    ARRIVED_PLAIN,                          /* it ran, or failed, as plain Python */
    ARRIVED_SWAPPED,                        /* it ran the entry's code */
    ARRIVED_CLEANED                         /* it did nothing: the entry is still to be run */
} Arrival;

typedef struct Arm {                        /* one awaited frame; lives on the C stack */
    struct Arm *outer;
    void *caller;                           /* the frame that makes the awaited call */
    PyCodeObject *code;
    ArmKind kind;
    Arrival arrival;
    Values *values;                         /* ARM_RELEASE: given up at the frame's arrival;
                                               ARM_CAPTURE: empty, filled with the arguments */
    Part *part;                             /* ARM_CAPTURE, borrowed */
    Entry *entry;                           /* ARM_CAPTURE: what on_miss gave, owned */
    int collects;                           /* ARM_CAPTURE: the cycle collector was on */
} Arm;

#define BCJIT_GENERATOR_FLAGS \
    (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR | CO_ITERABLE_COROUTINE)

/* Gives a fresh frame other code. false: the data stack has no room for the other code's frame. */
bool bcjit_swap_code(PyThreadState *ts, bcjit_frame *frame, PyCodeObject *code);
/* Clears a frame that must not run: None, or NULL when an error is set, which stays set. */
PyObject *bcjit_clean_frame(PyThreadState *ts, bcjit_frame *frame, PyCodeObject *cleanup);
/* Sets or takes back the evaluator, as awaited frames and the watch ask. */
void bcjit_place_evaluator(PyThreadState *ts);
void bcjit_arm(PyThreadState *ts, Arm *arm);
void bcjit_disarm(PyThreadState *ts, Arm *arm);     /* nothing to do when the frame has come */
bool bcjit_hook_armed(void);
bool bcjit_hook_installed(PyThreadState *ts);

/* ---- watch.c: every frame of a whole script ---------------------------------------------------- */
bool bcjit_watch_is_on(void);
PyObject *bcjit_watched(PyThreadState *ts, bcjit_frame *frame, int throwflag,
                        _PyFrameEvalFunction below);
/* Around our own work; they nest. */
void bcjit_pause_watch(PyThreadState *ts);
void bcjit_resume_watch(PyThreadState *ts);
/* The next frame of this code on this thread is residual code: not to be looked at. NULL: none is. */
void bcjit_watch_expect(PyCodeObject *code);
PyObject *bcjit_watch(PyObject *module, PyObject *chooser);
PyObject *bcjit_watch_forked(PyObject *module, PyObject *none);

/* ---- bottom.c: a program with nothing below it ------------------------------------------------- */
PyObject *bcjit_run_file(PyObject *module, PyObject *path);
PyObject *bcjit_run_string(PyObject *module, PyObject *source);
PyObject *bcjit_run_call(PyObject *module, PyObject *args);

/* ---- driver.c: parts, one after another ------------------------------------------------------ */
typedef struct {                            /* a part that is about to run, with all it needs */
    Part *part;                             /* owned */
    PyObject *closure;                      /* owned, or NULL */
    Values values;
} State;

int bcjit_state_init(State *state, Part *part, PyObject *closure, PyObject *const *values,
                     Py_ssize_t n);
void bcjit_state_clear(State *state);
/* Calls Python code of ours, unwatched. An error of the program's, which a signal handler raised in
 * it, shows none of our frames. dispensable: NULL without an error where it had no stack or memory. */
PyObject *bcjit_call_back(PyObject *callback, PyObject *const *args, size_t n, bool dispensable);
/* The entry that is right for these values at this moment, compiled by part.on_miss where there is none; or
 * NULL, with or without an error set. Nothing runs between its last look at the guards and its return. */
Entry *bcjit_miss(Part *part, PyObject *func, PyObject *closure, PyObject *values);
/* Runs the entry's code. held: the owner of the values when that is us, else NULL; it gives them up
 * once no graph of this run can fail any more (see Held). */
PyObject *bcjit_entry_run(PyThreadState *ts, Entry *entry, PyObject *func, PyObject *closure,
                          PyObject *const *values, Py_ssize_t n, Values *held);

/* The values of a run, kept for a bail-out. When the one graph call of the code has succeeded they
 * go, so that the objects live no longer than in plain Python. */
typedef struct Held {
    struct Held *outer;
    PyObject *graph_call;
    Values *values;
} Held;
void bcjit_hold(Held *held, Entry *entry, Values *values);
void bcjit_let_go(Held *held);
void bcjit_graph_succeeded(PyObject *graph_call);
/* Whether the error that is set is a BailOut. */
bool bcjit_is_bailout(void);
/* With a BailOut set: asks where to resume and runs plain code from there; clears the state.
 * handled: the exception that was being handled when the entry began (borrowed, or NULL). */
PyObject *bcjit_bail_out(Entry *entry, State *state, PyObject *func, PyObject *handled);
/* What follows the run of an entry's code, which gave result: its value, the parts behind it, or a
 * bail-out. owned holds the references to values where that is us, else NULL; it is given up. */
PyObject *bcjit_after_entry(Part *part, PyObject *func, Entry *entry, PyObject *result,
                            PyObject *const *values, Py_ssize_t n, Values *owned,
                            PyObject *handled);
/* Of an entry with a hand_over: does what its code would do, and makes the state of the next part; false with an error set. */
bool bcjit_hand_over(PyThreadState *ts, Entry *entry, PyObject *func, PyObject *const *values,
                     State *next);
/* Runs the part named by an entry's tuple (stolen) and all that follow. */
PyObject *bcjit_follow(PyObject *next, PyObject *func);
/* Runs the state's part and all that follow; clears the state. */
PyObject *bcjit_drive_state(State *state, PyObject *func);
PyObject *bcjit_drive(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* ---- bind.c: arguments in the order of the fast locals --------------------------------------- */
/* 1: bound; 0: cannot be bound here (call the function, it raises or binds); -1: error. */
int bcjit_bind(PyFunctionObject *fn, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
               Values *values);

/* ---- dispatch.c ------------------------------------------------------------------------------ */
typedef struct {
    PyObject_HEAD
    PyObject *fn;                           /* exact function, or NULL before __init__ */
    PyCodeObject *code;                     /* fn's code when this was made */
    Part *part;
    PyObject *dict;
    PyObject *weakrefs;
    vectorcallfunc vectorcall;
    int simple_args;                        /* argument count when all are positional, else -1 */
    char enabled;
} Dispatcher;

extern PyTypeObject BcjitDispatcher_Type;
PyObject *bcjit_dispatcher_new(PyObject *fn, Part *part);
PyObject *bcjit_enable_vectorcall(PyObject *module, PyObject *cls);

/* ---- error_state.c --------------------------------------------------------------------------- */

typedef struct {                            /* references, if context is not NULL */
    PyObject *context;
    PyObject *before, *within;              /* its variables before and now; within NULL: before is a token */
} ErrorScope;

/* -1 with an error set. Only a scope whose context is not NULL is left. */
int bcjit_error_scope_enter(int which, ErrorScope *scope);
int bcjit_error_scope_leave(ErrorScope *scope);

/* ---- graphcall.c ----------------------------------------------------------------------------- */
extern PyTypeObject BcjitGraphCall_Type;
extern PyTypeObject BcjitBailOut_Type;
int bcjit_graphcall_init(void);
/* Sets a BailOut in place of the error that is set, if that is an Exception. */
void bcjit_bail_out_of(PyObject *graph_call);
/* What the graph gives, as it gives it, called without residual code (an outer run of the same graph keeps what it holds);
 * whether that is its only output, not a tuple. */
PyObject *bcjit_run_graph(PyObject *graph_call, PyObject *const *args, Py_ssize_t n);
bool bcjit_graph_is_single(PyObject *graph_call);
/* The graph's only output for n arguments. */
PyObject *bcjit_call_graph(PyObject *graph_call, PyObject *const *args, Py_ssize_t n);
PyObject *bcjit_set_error_state_mapper(PyObject *module, PyObject *args);
PyObject *bcjit_set_foreign_test(PyObject *module, PyObject *test);
/* The traceback with which an exception goes on that is the program's (new reference), None, or
 * NULL with an error set. */
PyObject *bcjit_foreign_traceback(PyObject *exc, PyObject *fn);

/* ---- kernel.c -------------------------------------------------------------------------------- */
int bcjit_kernel_init(PyObject *module);
PyObject *bcjit_set_flags_test(PyObject *module, PyObject *test);
/* kernel_pool.c */
PyObject *bcjit_set_thread_count(PyObject *module, PyObject *count);
PyObject *bcjit_pool_size_now(PyObject *module, PyObject *unused);
PyObject *bcjit_ufunc_loop(PyObject *module, PyObject *args);

/* ---- codeslot.c ------------------------------------------------------------------------------ */
typedef struct {                            /* what the watch knows of a code object */
    Part *part;                             /* owned, of a copy of the code (else it could not die) */
    Py_ssize_t asked;                       /* how often the chooser could not say */
    bool leave;                             /* frames of it run plain */
} Watch;

int bcjit_codeslot_init(void);
Watch *bcjit_code_watch(PyCodeObject *code);        /* NULL: there is none yet */
Watch *bcjit_code_watch_made(PyCodeObject *code);   /* NULL: an error is set */
PyObject *bcjit_leave_alone(PyObject *module, PyObject *code);
PyObject *bcjit_get_code_slot(PyObject *module, PyObject *code);
PyObject *bcjit_set_code_slot(PyObject *module, PyObject *args);
PyObject *bcjit_callee(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *bcjit_set_callee_factory(PyObject *module, PyObject *factory);

/* ---- stack.c --------------------------------------------------------------------------------- */
/* Before a C function re-enters Python. -1: RecursionError is set. Else hand the token to leave. */
int bcjit_enter_call(PyThreadState *ts);
void bcjit_leave_call(PyThreadState *ts, int token);
/* The same where CPython itself says when the stack is full. */
int bcjit_uncount_call(PyThreadState *ts);

/* ---- module.c -------------------------------------------------------------------------------- */
extern vectorcallfunc bcjit_function_vectorcall;    /* of every Python function nobody changed */
extern bool bcjit_tracing_override;
/* Whether somebody listens who must see a frame for each function that runs. */
static inline bool bcjit_profiling_active(PyThreadState *ts)
{
    return BCJIT_UNLIKELY(ts->c_profilefunc != NULL || bcjit_tool_in_use(ts->interp, 2) ||
                          bcjit_tool_in_use(ts->interp, 3) || bcjit_tool_in_use(ts->interp, 4) ||
                          bcjit_tool_in_use(ts->interp, 5));
}
static inline bool bcjit_tracing_active(PyThreadState *ts)
{
    return BCJIT_UNLIKELY(ts->c_tracefunc != NULL || bcjit_tool_in_use(ts->interp, 0) ||
                          bcjit_tool_in_use(ts->interp, 1)) &&
           !bcjit_tracing_override;
}

#endif
