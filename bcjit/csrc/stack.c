/* stack.c - how deep C may nest: by the measured C stack, so that Python's own limit is met first.
 *
 * A call through a dispatcher nests an evaluator on the C stack, where plain Python would not. On
 * 3.12 and 3.13 each evaluator counts against a fixed C recursion limit that is lower than what the
 * stack holds, so recursion would fail earlier than in plain Python. While less than half of the
 * stack is in use that count is undone; near the end of the stack RecursionError is raised. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#  define _GNU_SOURCE
#endif
#include "core.h"

#if defined(__linux__) || defined(__APPLE__)
#  include <pthread.h>
#  define MEASURED 1
#elif defined(_WIN32)
#  include <windows.h>
#  define MEASURED 1
#else
#  define MEASURED 0
#endif

#if MEASURED
#define ASSUMED_SIZE ((size_t)8 << 20)      /* for a stack of unlimited size */
#define RESERVE ((size_t)256 << 10)

static BCJIT_THREAD_LOCAL char *low_half;   /* below: more than half of the stack is in use */
static BCJIT_THREAD_LOCAL char *low_end;    /* below: no more calls */

static void measure(char *here)
{
    char *low = NULL;
    size_t size = 0;
#if defined(__linux__)
    pthread_attr_t attributes;
    void *address;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
            low = address;
        }
        pthread_attr_destroy(&attributes);
    }
#elif defined(__APPLE__)
    size = pthread_get_stacksize_np(pthread_self());
    low = (char *)pthread_get_stackaddr_np(pthread_self()) - size;
#else
    ULONG_PTR first, last;
    GetCurrentThreadStackLimits(&first, &last);
    low = (char *)first;
    size = (size_t)(last - first);
#endif
    if (low == NULL || here < low || size > 8 * ASSUMED_SIZE) {
        /* Unknown or unlimited: count from where we stand. */
        size = ASSUMED_SIZE;
        low = (size_t)here > size ? here - size : NULL;
    }
    low_half = low + size / 2;
    low_end = low + (size / 4 < RESERVE ? size / 4 : RESERVE);
}
#endif

int bcjit_enter_call(PyThreadState *ts)
{
#if MEASURED
    char mark;
    char *here = &mark;
    if (BCJIT_UNLIKELY(low_end == NULL)) {
        measure(here);
    }
    if (BCJIT_LIKELY(here > low_half)) {
        bcjit_uncount_c_recursion(ts, BCJIT_C_RECURSION_UNITS);
        return BCJIT_C_RECURSION_UNITS;
    }
    if (BCJIT_UNLIKELY(here < low_end)) {
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded");
        return -1;
    }
    return 0;
#else
    (void)ts;
    return Py_EnterRecursiveCall("") != 0 ? -1 : 0;
#endif
}

int bcjit_uncount_call(PyThreadState *ts)
{
#if MEASURED
    char mark;
    if (BCJIT_UNLIKELY(low_end == NULL)) {
        measure(&mark);
    }
    if (BCJIT_LIKELY(&mark > low_half)) {
        bcjit_uncount_c_recursion(ts, BCJIT_C_RECURSION_UNITS);
        return BCJIT_C_RECURSION_UNITS;
    }
#endif
    (void)ts;
    return 0;
}

void bcjit_leave_call(PyThreadState *ts, int token)
{
#if MEASURED
    bcjit_uncount_c_recursion(ts, -token);
#else
    (void)ts;
    (void)token;
    Py_LeaveRecursiveCall();
#endif
}
