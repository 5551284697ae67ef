/* reduce_threads.c - large runs of a ReduceKernel in steps, between which signals are looked at, and in pieces for threads.
 *
 * What is folded does not depend on the pieces: tiles are apart from each other, and of a long row pieces are parts that NumPy folds alone
 * too - nodes of the tree of its pairwise sums - or what is the same in any order.
 */
#include "reduce.h"
#include "kernel_flags.h"
#include "kernel_pool.h"

#include <string.h>

/* Nanoseconds between looks at signals, and elements of the first step, whose pace is not known. */
#define BETWEEN_SIGNALS 10e6
#define FIRST_STEP 16384.0
/* Elements of the smallest piece for a thread, and pieces for each. */
#define SMALLEST_PIECE 4096.0
#define PIECES 4
/* Elements of a part of a long row, at most; rows that are as long as some of them are cut. */
#define PART ((npy_intp)1 << 14)
#define LONG_ROW (4 * PART)

typedef struct {
    npy_intp start, n;
    Partial values[REDUCE_FOLDS];
} RowPart;

typedef struct {
    ReduceKernel *kernel;
    ReduceRun *runs;                        /* of each thread; the first is the caller's */
    int threads;
    PyThreadState *saved;
    double looked;                          /* at signals, when */
    npy_intp first, last, piece;            /* of a step: tiles, or parts */
    int p;                                  /* of a row in parts */
    npy_intp row;
    RowPart *parts;
} Work;

static void do_tiles(void *context, Py_ssize_t i, int slot)
{
    Work *work = context;
    npy_intp first = work->first + i * work->piece, rest = work->last - first;
    reduce_run(&work->runs[slot], first, first + (rest < work->piece ? rest : work->piece));
}

static void do_parts(void *context, Py_ssize_t i, int slot)
{
    Work *work = context;
    ReduceRun *run = &work->runs[slot];
    npy_intp first = work->first + i * work->piece, rest = work->last - first;
    flags_clear();
    for (npy_intp k = 0; k < (rest < work->piece ? rest : work->piece); k++) {
        RowPart *part = &work->parts[first + k];
        reduce_part(run, work->p, work->row, part->start, part->n, part->values);
    }
    run->flags |= flags_raised();
}

/* Has so many units done, of so many elements each. 1: done; 0: NumPy's loops have something to say; -1: an error is set. */
static int do_all(Work *work, bcjit_task task, npy_intp n, double unit)
{
    for (work->first = 0; work->first < n; work->first = work->last) {
        double pace = work->kernel->pace * unit, rest = (double)(n - work->first);
        double step = pace > 0 ? BETWEEN_SIGNALS / pace : FIRST_STEP / unit;
        work->last = step < rest ? work->first + (npy_intp)step + 1 : n;
        work->last = work->last < n ? work->last : n;
        double count = (double)(work->last - work->first);
        int used = pace * count > POOL_PAYS ? work->threads : 1;
        double least = SMALLEST_PIECE / unit, piece = count / (used * PIECES);
        work->piece = used < 2 ? work->last - work->first : (npy_intp)(piece < least ? least : piece) + 1;
        double before = bcjit_pool_now();
        bcjit_pool_run(task, work, (work->last - work->first + work->piece - 1) / work->piece, used);
        double now = bcjit_pool_now(), took = now - before;
        if (took > 0) {                     /* or the clock was set back */
            work->kernel->pace = took * used / (count * unit);
        }
        if (now - work->looked >= BETWEEN_SIGNALS / 2 || took < 0) {
            PyEval_RestoreThread(work->saved);
            int done = PyErr_Occurred() ? 0 : PyErr_CheckSignals() < 0 ? -1 : 1;
            work->saved = PyEval_SaveThread();
            work->looked = bcjit_pool_now();
            if (done < 1) {
                return done;
            }
        }
    }
    return 1;
}

static npy_intp half_of(npy_intp n)
{
    npy_intp half = n / 2;
    return half - half % 8;
}

/* Cuts elements into parts, or with NULL counts these. */
static npy_intp cut(const Phase *phase, npy_intp start, npy_intp n, RowPart *parts)
{
    if (n <= PART) {
        if (parts != NULL) {
            parts->start = start;
            parts->n = n;
        }
        return 1;
    }
    npy_intp half = phase->tree ? half_of(n) : n / PART / 2 * PART;
    half = half == 0 ? PART : half;
    npy_intp made = cut(phase, start, half, parts);
    return made + cut(phase, start + half, n - half, parts == NULL ? NULL : parts + made);
}

/* Joins parts as they were cut; `next` is the first of those that are left. */
static void join(ReduceRun *run, int p, npy_intp n, RowPart **next, Partial *values)
{
    if (n <= PART) {
        memcpy(values, (*next)->values, sizeof((*next)->values));
        ++*next;
        return;
    }
    Partial behind[REDUCE_FOLDS];
    npy_intp half = run->kernel->phases[p].tree ? half_of(n) : n / PART / 2 * PART;
    half = half == 0 ? PART : half;
    join(run, p, half, next, values);
    join(run, p, n - half, next, behind);
    reduce_join(run, p, values, behind);
}

/* A phase of a long row. */
static int do_phase(Work *work)
{
    ReduceRun *run = &work->runs[0];
    const Phase *phase = &run->kernel->phases[work->p];
    Partial values[REDUCE_FOLDS], piece[REDUCE_FOLDS];
    npy_intp n, count = 0, made = 0;
    for (npy_intp start = 0; start < run->reduced; start += n) {
        n = reduce_next_piece(run, work->p, start);
        count += cut(phase, start, n, NULL);
    }
    work->parts = PyMem_RawMalloc((size_t)count * sizeof(RowPart));
    if (work->parts == NULL) {
        PyEval_RestoreThread(work->saved);
        PyErr_NoMemory();
        work->saved = PyEval_SaveThread();
        return -1;
    }
    for (npy_intp start = 0; start < run->reduced; start += n) {
        n = reduce_next_piece(run, work->p, start);
        made += cut(phase, start, n, work->parts + made);
    }
    int done = do_all(work, do_parts, count, (double)run->reduced / (double)count);
    RowPart *next = work->parts;
    flags_clear();
    for (npy_intp start = 0; done > 0 && start < run->reduced; start += n) {
        n = reduce_next_piece(run, work->p, start);
        join(run, work->p, n, &next, start == 0 ? values : piece);
        if (start > 0) {
            reduce_join(run, work->p, values, piece);
        }
    }
    if (done > 0) {
        reduce_end_phase(run, work->p, work->row, values);
    }
    run->flags |= flags_raised();
    PyMem_RawFree(work->parts);
    return done;
}

/* Whether rows are computed one after the other, each in parts. */
static bool has_long_rows(const ReduceRun *run, int threads)
{
    if (run->inner > 1 || run->reduced < LONG_ROW || (run->outer >= 4 * threads && run->reduced < 64 * PART)) {
        return false;
    }
    for (int p = 0; p < run->kernel->n_phases; p++) {
        if (!run->kernel->phases[p].in_parts || run->segment < PART) {
            return false;
        }
    }
    return true;
}

static int do_rows(Work *work)
{
    const ReduceKernel *kernel = work->kernel;
    int done = 1;
    for (int i = 1; i < work->threads; i++) {
        ReduceRun *run = &work->runs[i];    /* what is kept of a row, and folded, is one for all */
        memcpy(run->smalls, work->runs[0].smalls, sizeof(run->smalls));
        for (int k = 0; k < kernel->n_bigs; k++) {
            if (kernel->bigs[k].kind == BIG_TILE) {
                run->bigs[k] = work->runs[0].bigs[k];
            }
        }
    }
    for (work->row = 0; done > 0 && work->row < work->runs[0].outer; work->row++) {
        for (int i = 0; i < work->threads; i++) {
            reduce_begin_row(&work->runs[i], work->row);
        }
        for (work->p = 0; done > 0 && work->p < kernel->n_phases; work->p++) {
            done = do_phase(work);
        }
    }
    return done;
}

int reduce_all(ReduceKernel *kernel, ReduceRun *run, char *memory, size_t size, int threads,
               size_t (*place)(ReduceRun *run, char *memory))
{
    Work work = {.kernel = kernel, .threads = threads};
    work.runs = PyMem_RawMalloc((size_t)threads * sizeof(ReduceRun));
    if (work.runs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < threads; i++) {
        work.runs[i] = *run;
        place(&work.runs[i], memory + (size_t)i * size);
    }
    work.saved = PyEval_SaveThread();
    work.looked = bcjit_pool_now();
    npy_intp tiles = reduce_tiles(run);
    double total = (double)run->outer * (double)run->reduced * (double)run->inner;
    int done = has_long_rows(run, threads) ? do_rows(&work)
                                           : do_all(&work, do_tiles, tiles, total / (double)tiles);
    PyEval_RestoreThread(work.saved);
    for (int i = 0; i < threads; i++) {
        run->flags |= work.runs[i].flags;
        run->unsure = run->unsure || work.runs[i].unsure;
    }
    PyMem_RawFree(work.runs);
    return done;
}
