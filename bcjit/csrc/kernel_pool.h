/* kernel_pool.h - threads for pieces of work that need no Python. */
#ifndef BCJIT_KERNEL_POOL_H
#define BCJIT_KERNEL_POOL_H

#include "core.h"

/* Does piece `i`. `slot` is less than the number of threads, and that of no other thread which is at it now: 0 is the caller's. */
typedef void (*bcjit_task)(void *context, Py_ssize_t i, int slot);

/* Most threads, the caller's one of them. */
enum { POOL_THREADS = 64 };

/* Work that takes less time on one thread, in nanoseconds, is not handed out: to wake others takes 5 to 40 µs. */
#define POOL_PAYS 150e3

/* How many threads the settings allow, the caller's one of them: at least 1; -1: an error is set. Needs the GIL. */
int bcjit_pool_threads(void);

/* Has pieces [0, n) done by at most so many threads, the caller's one of them, in any order, and returns when all are. They compute
 * with the caller's floating-point modes; flags that they raise are the task's to look at. Call it without the GIL. Where the
 * pool is at work for another thread, or cannot be had, the caller does all. */
void bcjit_pool_run(bcjit_task task, void *context, Py_ssize_t n, int threads);

/* Threads that wait for work now. */
int bcjit_pool_size(void);

/* Nanoseconds, of no particular beginning. */
double bcjit_pool_now(void);

#endif
