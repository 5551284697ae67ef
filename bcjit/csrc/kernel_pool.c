/* kernel_pool.c - a pool of threads that sleep until there are pieces of work; whoever hands them out takes part. It knows no kernel.
 *
 * One piece of work at a time: a second caller does its own alone. Workers take pieces one by one, and who wakes late finds none
 * and is not waited for. They never touch Python, so that nothing has to be done at its exit. Before a fork they end: Python warns of
 * processes of several threads that fork, and there are none in the child. They are started again when work is there.
 */
#include "kernel_pool.h"

#include <time.h>

static PyObject *thread_count;              /* what says how many threads there may be */

PyObject *bcjit_set_thread_count(PyObject *Py_UNUSED(module), PyObject *count)
{
    Py_XSETREF(thread_count, count == Py_None ? NULL : Py_NewRef(count));
    Py_RETURN_NONE;
}

int bcjit_pool_threads(void)
{
    if (thread_count == NULL) {
        return 1;
    }
    PyObject *asked = Py_NewRef(thread_count);
    PyObject *answer = PyObject_CallNoArgs(asked);
    Py_DECREF(asked);
    if (answer == NULL) {
        return -1;
    }
    long count = PyLong_AsLong(answer);
    Py_DECREF(answer);
    if (count == -1 && PyErr_Occurred()) {
        return -1;
    }
    return count < 1 ? 1 : count > POOL_THREADS ? POOL_THREADS : (int)count;
}

PyObject *bcjit_pool_size_now(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromLong(bcjit_pool_size());
}

#ifdef _WIN32

void bcjit_pool_run(bcjit_task task, void *context, Py_ssize_t n, int Py_UNUSED(threads))
{
    for (Py_ssize_t i = 0; i < n; i++) {
        task(context, i, 0);
    }
}

int bcjit_pool_size(void) { return 0; }

double bcjit_pool_now(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

#else

#  include <fenv.h>
#  include <pthread.h>
#  include <signal.h>

#  define STACK_SIZE ((size_t)1 << 20)

static struct {
    pthread_mutex_t mutex;                  /* guards all but `next` */
    pthread_cond_t work, done;
    pthread_t threads[POOL_THREADS];
    int workers;
    bool quit;                              /* those that sleep shall end */
    bool busy;                              /* from a caller's beginning to its end */
    int room;                               /* workers that may still take part */
    int active, slots;
    bcjit_task task;
    void *context;
    Py_ssize_t n, next;
    fenv_t modes;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

double bcjit_pool_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void do_pieces(bcjit_task task, void *context, Py_ssize_t n, int slot)
{
    for (;;) {
        Py_ssize_t i = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED);
        if (i >= n) {
            return;
        }
        task(context, i, slot);
    }
}

static void *work(void *Py_UNUSED(unused))
{
    pthread_mutex_lock(&pool.mutex);
    for (;;) {
        while (pool.room == 0 && !pool.quit) {
            pthread_cond_wait(&pool.work, &pool.mutex);
        }
        if (pool.quit) {
            pthread_mutex_unlock(&pool.mutex);
            return NULL;
        }
        pool.room--;
        pool.active++;
        int slot = ++pool.slots;
        fenv_t modes = pool.modes;
        pthread_mutex_unlock(&pool.mutex);
        fesetenv(&modes);
        do_pieces(pool.task, pool.context, pool.n, slot);
        pthread_mutex_lock(&pool.mutex);
        pool.room = 0;                      /* no piece is left */
        if (--pool.active == 0) {
            pthread_cond_signal(&pool.done);
        }
    }
}

/* Has the workers end, unless one thread has them at work while another forks. */
static void end_workers(void)
{
    pthread_mutex_lock(&pool.mutex);
    if (pool.busy || pool.workers == 0) {
        pthread_mutex_unlock(&pool.mutex);
        return;
    }
    pool.quit = pool.busy = true;
    pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.mutex);
    for (int i = 0; i < pool.workers; i++) {
        pthread_join(pool.threads[i], NULL);
    }
    pthread_mutex_lock(&pool.mutex);
    pool.workers = 0;
    pool.quit = pool.busy = false;
    pthread_mutex_unlock(&pool.mutex);
}

/* In a new process there is one thread. */
static void forget(void)
{
    static const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    memcpy(&pool.mutex, &mutex, sizeof(mutex));
    memcpy(&pool.work, &condition, sizeof(condition));
    memcpy(&pool.done, &condition, sizeof(condition));
    pool.workers = pool.room = pool.active = 0;
    pool.busy = pool.quit = false;
}

/* Has as many workers as there can be, up to a number. With the mutex. */
static void have_workers(int wanted)
{
    static bool knows_forks = false;
    if (pool.workers >= wanted || (!knows_forks && pthread_atfork(end_workers, NULL, forget) != 0)) {
        return;
    }
    knows_forks = true;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return;
    }
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigset_t all, before;                   /* signals are the program's own threads' to handle */
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) == 0) {
        while (pool.workers < wanted &&
               pthread_create(&pool.threads[pool.workers], &attributes, work, NULL) == 0) {
            pool.workers++;
        }
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
}

void bcjit_pool_run(bcjit_task task, void *context, Py_ssize_t n, int threads)
{
    bool mine = false;
    if (n > 1 && threads > 1) {
        pthread_mutex_lock(&pool.mutex);
        if (!pool.busy) {
            have_workers(threads - 1);
            mine = pool.busy = pool.workers > 0 && fegetenv(&pool.modes) == 0;
        }
        if (mine) {
            Py_ssize_t others = n < threads ? n - 1 : threads - 1;
            pool.room = others < pool.workers ? (int)others : pool.workers;
            pool.active = pool.slots = 0;
            pool.task = task;
            pool.context = context;
            pool.n = n;
            pool.next = 0;
            pthread_cond_broadcast(&pool.work);
        }
        pthread_mutex_unlock(&pool.mutex);
    }
    if (!mine) {
        for (Py_ssize_t i = 0; i < n; i++) {
            task(context, i, 0);
        }
        return;
    }
    do_pieces(task, context, n, 0);
    pthread_mutex_lock(&pool.mutex);
    pool.room = 0;
    while (pool.active > 0) {
        pthread_cond_wait(&pool.done, &pool.mutex);
    }
    pool.busy = false;
    pthread_mutex_unlock(&pool.mutex);
}

int bcjit_pool_size(void)
{
    pthread_mutex_lock(&pool.mutex);
    int workers = pool.workers;
    pthread_mutex_unlock(&pool.mutex);
    return workers;
}

#endif
