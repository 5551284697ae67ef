/* kernel.c - Kernel: machine code over blocks of elements as a callable over arrays; it knows no operation.
 *
 * The machine code computes at least `width` and at most `block` elements that lie side by side in each operand. Here is
 * what stands around it: what the operands are, how they broadcast, their strides, the memory of results, the flags of
 * the processor. Whatever is not as it was compiled for is done by `fallback`, the same calls in NumPy; so is all of it
 * again when a flag is up that NumPy's error state does not ignore: results are new memory, so nothing has happened yet.
 */
#include "kernel.h"
#include "kernel_flags.h"
#include "kernel_pool.h"

#include <string.h>

#define MAX_DIMS KERNEL_DIMS

/* ---- memory for blocks ----------------------------------------------------------------------- */
static struct {                             /* one piece is kept between calls; the GIL guards it */
    char *memory;
    size_t size;
} spare;

#define SPARE_LIMIT ((size_t)4 << 20)

char *scratch_take(size_t size, size_t *got)
{
    if (spare.memory != NULL && spare.size >= size) {
        char *memory = spare.memory;
        *got = spare.size;
        spare.memory = NULL;
        return memory;
    }
    *got = size;
    return PyMem_RawMalloc(size);
}

void scratch_give(char *memory, size_t size)
{
    if (memory == NULL) {
        return;
    }
    if (size <= SPARE_LIMIT && (spare.memory == NULL || spare.size < size)) {
        char *old = spare.memory;
        spare.memory = memory;
        spare.size = size;
        memory = old;
    }
    PyMem_RawFree(memory);
}

/* ---- operands -------------------------------------------------------------------------------- */

/* How an array takes part in a run. */
typedef struct {
    char *data;
    npy_intp itemsize;
    npy_intp strides[MAX_DIMS];             /* of the merged axes, 0 where it is repeated */
    bool is_rolled;                         /* each axis begins with the element of this index, and goes on with its first */
    npy_intp firsts[MAX_DIMS];
    bool whole;                             /* its elements lie side by side in the order of the run */
    npy_intp period;                        /* the elements of a block repeat after so many; 0: not */
    char *buffer;                           /* a block of it, where it is not whole */
    npy_intp filled;                        /* elements of the buffer that stay right */
} Operand;

typedef struct {
    const Kernel *kernel;
    int n_operands, n_results;
    int ndim;                               /* merged */
    npy_intp dims[MAX_DIMS];
    npy_intp total;
    unsigned int flags;                     /* raised so far */
    bool by_rows;                           /* each row lies side by side, or is one element repeated */
    int order[MAX_DIMS];                    /* which axis of the arrays each axis is, before they are merged */
    int n_strided;                          /* the operands, and behind them where a result is stored */
    Operand operands[KERNEL_OPERANDS + 1];
    char *results[KERNEL_RESULTS];
    npy_intp result_size[KERNEL_RESULTS];
    char scalars[KERNEL_SLOTS * KERNEL_SCALAR_SIZE];
} Run;

void copy_strided(char *to, const char *from, npy_intp stride, npy_intp n, npy_intp itemsize)
{
#define COPY_AS(type) \
    do { \
        type *out = (type *)to; \
        for (npy_intp i = 0; i < n; i++, from += stride) { \
            out[i] = *(const type *)from; \
        } \
    } while (0)
    if (stride == itemsize) {
        memcpy(to, from, (size_t)(n * itemsize));
        return;
    }
    switch (itemsize) {
    case 1: COPY_AS(npy_uint8); break;
    case 2: COPY_AS(npy_uint16); break;
    case 4: COPY_AS(npy_uint32); break;
    case 8: COPY_AS(npy_uint64); break;
    default:
        for (npy_intp i = 0; i < n; i++, from += stride, to += itemsize) {
            memcpy(to, from, (size_t)itemsize);
        }
    }
#undef COPY_AS
}

/* Where element `start` of a run is; `at` is its place along each axis. */
static char *find_element(const Run *run, const Operand *operand, npy_intp start, npy_intp *at)
{
    char *found = operand->data;
    for (int axis = run->ndim - 1; axis >= 0; axis--) {
        at[axis] = start % run->dims[axis];
        start /= run->dims[axis];
        found += at[axis] * operand->strides[axis];
    }
    return found;
}

/* Goes on by so many elements, which are not more than there are up to the end of the last axis. */
static char *step_on(const Run *run, const Operand *operand, char *place, npy_intp here, npy_intp *at)
{
    int last = run->ndim - 1;
    place += here * operand->strides[last];
    at[last] += here;
    for (int axis = last; axis > 0 && at[axis] == run->dims[axis]; axis--) {
        place += operand->strides[axis - 1] - at[axis] * operand->strides[axis];
        at[axis] = 0;
        at[axis - 1]++;
    }
    return place;
}

/* The same where axes are rolled: from one place at which the last of them begins anew to the next. */
static void gather_rolled(const Run *run, const Operand *operand, npy_intp start, npy_intp n, char *to)
{
    npy_intp at[MAX_DIMS];
    int last = run->ndim - 1;
    npy_intp size = run->dims[last], stride = operand->strides[last];
    find_element(run, operand, start, at);
    while (n > 0) {
        const char *row = operand->data;
        for (int axis = 0; axis < last; axis++) {
            npy_intp here = at[axis] + operand->firsts[axis];
            row += (here < run->dims[axis] ? here : here - run->dims[axis]) * operand->strides[axis];
        }
        while (n > 0 && at[last] < size) {
            npy_intp first = at[last] + operand->firsts[last];
            first -= first < size ? 0 : size;
            npy_intp here = size - (first > at[last] ? first : at[last]);
            here = here < n ? here : n;
            copy_strided(to, row + first * stride, stride, here, operand->itemsize);
            to += here * operand->itemsize;
            at[last] += here;
            n -= here;
        }
        for (int axis = last; axis > 0 && at[axis] == run->dims[axis]; axis--) {
            at[axis] = 0;
            at[axis - 1]++;
        }
    }
}

/* The last axes, where they are short: a turn through them, as rows of the last one. */
enum { SHORT_AXIS = 8, PATTERN = 32 };

typedef struct {
    int first;                              /* of the axes */
    npy_intp length, n_rows, size;          /* of a row; rows; elements of a turn */
    npy_intp stride;                        /* of the elements of a row */
    npy_intp offsets[PATTERN];              /* of the rows */
} Pattern;

static bool find_pattern(const Run *run, const Operand *operand, Pattern *pattern)
{
    int last = run->ndim - 1;
    if (last < 1 || run->dims[last] > SHORT_AXIS || (operand->itemsize != 4 && operand->itemsize != 8)) {
        return false;
    }
    pattern->first = last;
    pattern->length = run->dims[last];
    pattern->stride = operand->strides[last];
    pattern->n_rows = 1;
    pattern->offsets[0] = 0;
    while (pattern->first > 1 && pattern->n_rows * run->dims[pattern->first - 1] <= PATTERN) {
        int axis = --pattern->first;
        npy_intp before = pattern->n_rows;
        for (npy_intp turn = 1; turn < run->dims[axis]; turn++) {
            for (npy_intp i = 0; i < before; i++) {
                pattern->offsets[turn * before + i] = pattern->offsets[i] + turn * operand->strides[axis];
            }
        }
        pattern->n_rows *= run->dims[axis];
    }
    pattern->size = pattern->n_rows * pattern->length;
    return true;
}

#if defined(__GNUC__)
#  define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#  define ALWAYS_INLINE static inline
#endif

/* Whole turns, `apart` bytes from one to the next. Where `length` and `stride` are constants, a row is an instruction or two. */
#define DEFINE_COPY_TURNS(type) \
    ALWAYS_INLINE void copy_turns_##type(char *to, const char *from, npy_intp turns, npy_intp apart, \
                                         const Pattern *pattern, npy_intp length, npy_intp stride) \
    { \
        const npy_intp n_rows = pattern->n_rows; \
        type *out = (type *)to; \
        for (; turns > 0; turns--, from += apart) { \
            for (npy_intp row = 0; row < n_rows; row++, out += length) { \
                const char *at = from + pattern->offsets[row]; \
                for (npy_intp i = 0; i < length; i++) { \
                    out[i] = *(const type *)(at + i * stride); \
                } \
            } \
        } \
    } \
    static void copy_any_turns_##type(char *to, const char *from, npy_intp turns, npy_intp apart, \
                                      const Pattern *pattern) \
    { \
        const npy_intp size = (npy_intp)sizeof(type); \
        npy_intp kind = pattern->stride == 0 ? 0 : pattern->stride == size ? 1 : 2; \
        switch (kind == 2 ? 0 : pattern->length * 2 + kind) { \
        case 4: copy_turns_##type(to, from, turns, apart, pattern, 2, 0); break; \
        case 5: copy_turns_##type(to, from, turns, apart, pattern, 2, size); break; \
        case 6: copy_turns_##type(to, from, turns, apart, pattern, 3, 0); break; \
        case 7: copy_turns_##type(to, from, turns, apart, pattern, 3, size); break; \
        case 8: copy_turns_##type(to, from, turns, apart, pattern, 4, 0); break; \
        case 9: copy_turns_##type(to, from, turns, apart, pattern, 4, size); break; \
        default: copy_turns_##type(to, from, turns, apart, pattern, pattern->length, pattern->stride); \
        } \
    }
DEFINE_COPY_TURNS(npy_uint64)
DEFINE_COPY_TURNS(npy_uint32)

/* As `gather`, turn by turn. */
static void gather_turns(const Run *run, const Operand *operand, const Pattern *pattern, npy_intp start,
                         npy_intp n, char *to)
{
    npy_intp at[MAX_DIMS], size = operand->itemsize;
    int outer = pattern->first - 1;
    while (n > 0) {
        const char *from = find_element(run, operand, start, at);
        npy_intp begun = start % pattern->size;
        npy_intp turns = begun == 0 ? n / pattern->size : 0, room = run->dims[outer] - at[outer];
        turns = turns < room ? turns : room;
        if (turns == 0) {
            memcpy(to, from, (size_t)size);
        }
        else if (size == 8) {
            copy_any_turns_npy_uint64(to, from, turns, operand->strides[outer], pattern);
        }
        else {
            copy_any_turns_npy_uint32(to, from, turns, operand->strides[outer], pattern);
        }
        npy_intp here = turns == 0 ? 1 : turns * pattern->size;
        to += here * size;
        start += here;
        n -= here;
    }
}

/* Copies elements [start, start + n) of a run, in its order, side by side. */
static void gather(const Run *run, const Operand *operand, npy_intp start, npy_intp n, char *to)
{
    npy_intp at[MAX_DIMS];
    int last = run->ndim - 1;
    if (operand->is_rolled) {
        gather_rolled(run, operand, start, n, to);
        return;
    }
    Pattern pattern;
    if (n >= 2 * PATTERN && find_pattern(run, operand, &pattern)) {
        gather_turns(run, operand, &pattern, start, n, to);
        return;
    }
    char *from = find_element(run, operand, start, at);
    while (n > 0) {
        npy_intp rest = run->dims[last] - at[last], here = rest < n ? rest : n;
        copy_strided(to, from, operand->strides[last], here, operand->itemsize);
        to += here * operand->itemsize;
        n -= here;
        from = step_on(run, operand, from, here, at);
    }
}

/* Stores elements [start, start + n) of a run, which lie side by side. */
static void scatter(const Run *run, const Operand *operand, npy_intp start, npy_intp n, const char *from)
{
    npy_intp at[MAX_DIMS], size = operand->itemsize;
    int last = run->ndim - 1;
    char *to = find_element(run, operand, start, at);
    while (n > 0) {
        npy_intp rest = run->dims[last] - at[last], here = rest < n ? rest : n;
        if (operand->strides[last] != size || memcmp(to, from, (size_t)(here * size)) != 0) {
            bcjit_kernel_store_row(to, operand->strides[last], from, here, size);
        }
        from += here * size;
        n -= here;
        to = step_on(run, operand, to, here, at);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* Fewer elements than the machine code takes: in copies with the first element repeated behind, which raises no flag that it does
 * not raise itself. */
static void run_padded(const Kernel *kernel, const char *scalars, char *const *data, npy_intp n,
                       char *scratch)
{
    char *padded[KERNEL_OPERANDS + KERNEL_RESULTS];
    char *room = scratch + kernel->scratch;
    int n_data = kernel->n_operands + kernel->n_results;
    for (int i = 0; i < n_data; i++) {
        npy_intp size = kernel->sizes[i];
        padded[i] = room;
        room += kernel->width * size;
        if (i < kernel->n_operands) {
            copy_strided(padded[i], data[i], size, n, size);
            copy_strided(padded[i] + n * size, padded[i], 0, kernel->width - n, size);
        }
    }
    kernel->run(padded, scalars, kernel->loops, kernel->width, scratch);
    for (int i = kernel->n_operands; i < n_data; i++) {
        npy_intp size = kernel->sizes[i];
        copy_strided(data[i], padded[i], size, n, size);
    }
}

/* Elements that lie side by side in all operands and results. */
static void run_side_by_side(const Kernel *kernel, const char *scalars, char *const *data, npy_intp n,
                             char *scratch)
{
    int n_data = kernel->n_operands + kernel->n_results;
    if (n < kernel->width) {
        run_padded(kernel, scalars, data, n, scratch);
        return;
    }
    if (n <= kernel->block) {
        kernel->run(data, scalars, kernel->loops, n, scratch);
        return;
    }
    char *here[KERNEL_OPERANDS + KERNEL_RESULTS];
    for (npy_intp start = 0; start < n;) {
        npy_intp count = n - start < kernel->block ? n - start : kernel->block;
        if (count < kernel->width) {        /* the last ones once more with those before them */
            start = n - kernel->width;
            count = kernel->width;
        }
        for (int i = 0; i < n_data; i++) {
            here[i] = data[i] + start * kernel->sizes[i];
        }
        kernel->run(here, scalars, kernel->loops, count, scratch);
        start += count;
    }
}

void bcjit_kernel_side_by_side(const Kernel *kernel, const char *scalars, char *const *data, npy_intp n,
                               char *scratch)
{
    run_side_by_side(kernel, scalars, data, n, scratch);
}

/* After how many elements all operands that are copied repeat themselves, as far as a block reaches. */
static npy_intp repeating(const Run *run)
{
    npy_intp period = 1;
    for (int i = 0; i < run->n_operands; i++) {
        const Operand *operand = &run->operands[i];
        if (!operand->whole && operand->period > period && operand->period <= run->kernel->chunk) {
            period = operand->period;       /* periods divide one another: they are products of the last axes */
        }
    }
    return period;
}

/* Elements [start, stop) of a run in its order. `buffers` is memory for the blocks of operands that are not whole. */
static void run_flat(Run *run, npy_intp start, npy_intp stop, char *scratch)
{
    npy_intp block = run->kernel->chunk;
    char *data[KERNEL_OPERANDS + KERNEL_RESULTS];
    npy_intp period = repeating(run);
    bool whole = true;
    for (int i = 0; i < run->n_operands; i++) {
        Operand *operand = &run->operands[i];
        operand->filled = 0;
        whole = whole && operand->whole;
    }
    block = whole ? stop - start : block - block % period;
    start -= start % period;
    for (; start < stop; start += block) {
        npy_intp count = stop - start < block ? stop - start : block;
        for (int i = 0; i < run->n_operands; i++) {
            Operand *operand = &run->operands[i];
            if (operand->whole) {
                data[i] = operand->data + start * operand->itemsize;
                continue;
            }
            data[i] = operand->buffer;
            if (count <= operand->filled) {
                continue;
            }
            npy_intp once = operand->period > 0 && operand->period < count ? operand->period : count;
            gather(run, operand, start, once, operand->buffer);
            for (npy_intp done = once; done < count; done += once) {
                once = done < count - done ? done : count - done;
                memcpy(operand->buffer + done * operand->itemsize, operand->buffer,
                       (size_t)(once * operand->itemsize));
            }
            if (operand->period > 0 && operand->period <= block) {
                operand->filled = count;
            }
        }
        for (int i = 0; i < run->n_results; i++) {
            data[run->n_operands + i] = run->results[i] + start * run->result_size[i];
        }
        run_side_by_side(run->kernel, run->scalars, data, count, scratch);
    }
}

/* Rows [first, last): the elements of each are side by side in the arrays themselves, or one element repeated. */
static void run_rows(Run *run, npy_intp first, npy_intp last, char *scratch)
{
    int inner = run->ndim - 1;
    npy_intp length = run->dims[inner];
    npy_intp chunk = run->kernel->chunk;
    char *data[KERNEL_OPERANDS + KERNEL_RESULTS], *here[KERNEL_OPERANDS + KERNEL_RESULTS];
    npy_intp at[MAX_DIMS], rest = first;
    bool repeats = false;
    for (int axis = inner - 1; axis >= 0; axis--) {
        at[axis] = rest % run->dims[axis];
        rest /= run->dims[axis];
    }
    for (int i = 0; i < run->n_operands; i++) {
        data[i] = run->operands[i].data;
        for (int axis = 0; axis < inner; axis++) {
            data[i] += at[axis] * run->operands[i].strides[axis];
        }
        repeats = repeats || run->operands[i].strides[inner] == 0;
        run->operands[i].filled = 0;
    }
    for (npy_intp row = first; row < last; row++) {
        for (int i = 0; i < run->n_results; i++) {
            data[run->n_operands + i] = run->results[i] + row * length * run->result_size[i];
        }
        if (!repeats) {
            run_side_by_side(run->kernel, run->scalars, data, length, scratch);
        }
        else {
            npy_intp room = length < chunk ? length : chunk;
            for (int i = 0; i < run->n_operands; i++) {
                Operand *operand = &run->operands[i];
                if (operand->strides[inner] == 0 &&
                    (operand->filled == 0 ||
                     memcmp(operand->buffer, data[i], (size_t)operand->itemsize) != 0)) {
                    copy_strided(operand->buffer, data[i], 0, room, operand->itemsize);
                    operand->filled = room;
                }
            }
            for (npy_intp start = 0; start < length; start += chunk) {
                npy_intp count = length - start < chunk ? length - start : chunk;
                for (int i = 0; i < run->n_operands; i++) {
                    const Operand *operand = &run->operands[i];
                    here[i] = operand->strides[inner] == 0
                                  ? operand->buffer
                                  : data[i] + start * operand->itemsize;
                }
                for (int i = run->n_operands; i < run->n_operands + run->n_results; i++) {
                    here[i] = data[i] + start * run->result_size[i - run->n_operands];
                }
                run_side_by_side(run->kernel, run->scalars, here, count, scratch);
            }
        }
        for (int axis = inner - 1; axis >= 0; axis--) {
            at[axis]++;
            for (int i = 0; i < run->n_operands; i++) {
                data[i] += run->operands[i].strides[axis];
            }
            if (at[axis] < run->dims[axis]) {
                break;
            }
            for (int i = 0; i < run->n_operands; i++) {
                data[i] -= at[axis] * run->operands[i].strides[axis];
            }
            at[axis] = 0;
        }
    }
}

/* From here on other threads run meanwhile. */
#define WITHOUT_GIL ((npy_intp)1 << 15)

/* Shorter rows are gathered into blocks; so are longer ones than a thread should be at without a pause. */
#define SHORT_ROW 96
#define SHORTEST_ROW 8                      /* where nothing is repeated, and no loop of NumPy's is called for each row */
#define LONG_ROW ((npy_intp)1 << 22)

/* Nanoseconds between looks at whether somebody pressed Ctrl-C, and elements in the first of them, whose pace is not known. */
#define BETWEEN_SIGNALS 10e6
#define FIRST_STEP ((npy_intp)1 << 14)
/* Elements of the smallest piece for a thread, and pieces for each: they do not all take the same time. */
#define SMALLEST_PIECE ((npy_intp)1 << 12)
#define PIECES 4

/* A step of a run in pieces. */
typedef struct {
    const Run *run;
    npy_intp start, stop, piece;            /* rows, or elements */
    char *scratch;
    size_t stride;                          /* bytes of each thread's */
    unsigned int flags;
} Step;

static void run_range(Run *run, npy_intp start, npy_intp stop, char *scratch)
{
    if (run->by_rows) {
        run_rows(run, start, stop, scratch);
    }
    else {
        run_flat(run, start, stop, scratch);
    }
}

static void run_piece(void *context, Py_ssize_t i, int slot)
{
    Step *step = context;
    Run run = *step->run;                   /* each thread has blocks of its own */
    size_t offset = (size_t)slot * step->stride;
    for (int k = 0; k < run.n_operands; k++) {
        if (run.operands[k].buffer != NULL) {
            run.operands[k].buffer += offset;
        }
    }
    npy_intp start = step->start + i * step->piece;
    npy_intp stop = step->stop - start < step->piece ? step->stop : start + step->piece;
    flags_clear();
    run_range(&run, start, stop, step->scratch + offset);
#ifdef _WIN32
    step->flags |= flags_raised();
#else
    __atomic_fetch_or(&step->flags, flags_raised(), __ATOMIC_RELAXED);
#endif
}

/* The step from `start` on, by so many threads. Returns the nanoseconds that it took. */
static double run_step(Run *run, npy_intp start, npy_intp stop, char *scratch, size_t stride,
                       int threads)
{
    double before = bcjit_pool_now();
    npy_intp unit = run->by_rows ? run->dims[run->ndim - 1] : 1;
    npy_intp even = run->by_rows ? 1 : repeating(run) * 64;
    npy_intp least = (SMALLEST_PIECE + unit - 1) / unit;
    npy_intp piece = threads < 2 ? stop - start : (stop - start) / ((npy_intp)threads * PIECES) + 1;
    piece = piece < least ? least : piece;
    piece = (piece + even - 1) / even * even; /* who repeats blocks begins with one */
    Step step = {run, start, stop, piece, scratch, stride, 0};
    bcjit_pool_run(run_piece, &step, (stop - start + piece - 1) / piece, threads);
    run->flags |= step.flags;
    return bcjit_pool_now() - before;
}

/* -1: an error is set. */
static int run_all(Kernel *kernel, Run *run, char *scratch, size_t stride, int threads)
{
    npy_intp unit = run->by_rows ? run->dims[run->ndim - 1] : 1;
    npy_intp n = run->by_rows ? run->total / unit : run->total;
    if (run->total < WITHOUT_GIL) {
        flags_clear();
        run_range(run, 0, n, scratch);
        run->flags |= flags_raised();
        return 0;
    }
    npy_intp even = run->by_rows ? 1 : repeating(run) * 64;
    for (npy_intp start = 0, stop; start < n; start = stop) {
        double pace = kernel->pace * (double)unit, rest = (double)(n - start);
        double step = pace > 0 ? BETWEEN_SIGNALS / pace : (double)(FIRST_STEP / unit);
        stop = step < rest ? start + ((npy_intp)step / even + 1) * even : n;
        stop = stop < n ? stop : n;
        double expected = pace * (double)(stop - start);
        int used = expected > POOL_PAYS ? threads : 1;
        PyThreadState *saved = PyEval_SaveThread();
        double took = run_step(run, start, stop, scratch, stride, used);
        PyEval_RestoreThread(saved);
        if (took > 0) {                     /* or the clock was set back */
            kernel->pace = took * used / (double)((stop - start) * unit);
        }
        if (stop < n && PyErr_CheckSignals() < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether what is stored may be read of each operand only at the same place, or not at all. */
static bool is_apart(const Run *run)
{
    const Operand *to = &run->operands[run->n_operands];
    for (int i = 0; i < run->n_operands; i++) {
        const Operand *from = &run->operands[i];
        bool same = from->data == to->data && from->itemsize == to->itemsize && !from->is_rolled;
        const char *low[2] = {from->data, to->data};
        const char *high[2] = {from->data + from->itemsize, to->data + to->itemsize};
        for (int axis = 0; axis < run->ndim; axis++) {
            npy_intp strides[2] = {from->strides[axis], to->strides[axis]};
            same = same && strides[0] == strides[1];
            for (int k = 0; k < 2; k++) {
                npy_intp span = strides[k] * (run->dims[axis] - 1);
                low[k] += span < 0 ? span : 0;
                high[k] += span > 0 ? span : 0;
            }
        }
        if (!same && low[0] < high[1] && low[1] < high[0]) {
            return false;
        }
    }
    return true;
}

/* Computes block by block and stores each at once; what stays as it is is not touched. */
static void run_streamed(Run *run, char *buffer, char *scratch)
{
    int last = run->n_results - 1;
    npy_intp block = run->kernel->chunk, size = run->result_size[last];
    block -= block % repeating(run);
    PyThreadState *saved = run->total < WITHOUT_GIL ? NULL : PyEval_SaveThread();
    for (npy_intp start = 0; start < run->total; start += block) {
        npy_intp count = run->total - start < block ? run->total - start : block;
        run->results[last] = buffer - start * size;
        run_flat(run, start, start + count, scratch);
        scatter(run, &run->operands[run->n_operands], start, count, buffer);
    }
    if (saved != NULL) {
        PyEval_RestoreThread(saved);
    }
}

/* ---- from objects to a run ------------------------------------------------------------------- */

/* All of these: 1 done, 0 not what the kernel is for, -1 an error is set. */

static int store_number(char *to, double value, int type)
{
    switch (type) {
    case NPY_DOUBLE:
        *(double *)to = value;
        return 1;
    case NPY_FLOAT: {
        float rounded = (float)value;
        double size = rounded < 0 ? -(double)rounded : (double)rounded;
        if ((size > 3.4028234663852886e38 || size < 1.1754943508222875e-38) && value != 0 &&
            value == value && (double)rounded != value) {
            return 0;                       /* NumPy may have something to say */
        }
        *(float *)to = rounded;
        return 1;
    }
    default:
        return 0;
    }
}

#define STORE_INTEGER(name, low, high) \
    do { \
        if (value < (npy_longlong)(low) || value > (npy_longlong)(high)) { \
            return 0; \
        } \
        *(name *)to = (name)value; \
        return 1; \
    } while (0)

static int store_integer(char *to, npy_longlong value, int type)
{
    switch (type) {
    case NPY_BOOL: STORE_INTEGER(npy_bool, 0, 1);
    case NPY_BYTE: STORE_INTEGER(npy_byte, NPY_MIN_BYTE, NPY_MAX_BYTE);
    case NPY_UBYTE: STORE_INTEGER(npy_ubyte, 0, NPY_MAX_UBYTE);
    case NPY_SHORT: STORE_INTEGER(npy_short, NPY_MIN_SHORT, NPY_MAX_SHORT);
    case NPY_USHORT: STORE_INTEGER(npy_ushort, 0, NPY_MAX_USHORT);
    case NPY_INT: STORE_INTEGER(npy_int, NPY_MIN_INT, NPY_MAX_INT);
    case NPY_UINT: STORE_INTEGER(npy_uint, 0, NPY_MAX_UINT);
    case NPY_LONG: STORE_INTEGER(npy_long, NPY_MIN_LONG, NPY_MAX_LONG);
    case NPY_LONGLONG: STORE_INTEGER(npy_longlong, NPY_MIN_LONGLONG, NPY_MAX_LONGLONG);
    case NPY_ULONG: STORE_INTEGER(npy_ulong, 0, NPY_MAX_LONGLONG);
    case NPY_ULONGLONG: STORE_INTEGER(npy_ulonglong, 0, NPY_MAX_LONGLONG);
    default: return 0;
    }
}

int store_scalar(char *to, PyObject *value, const KernelScalar *scalar)
{
    if (scalar->numpy_type != NULL) {
        if (Py_TYPE(value) != scalar->numpy_type) {
            return 0;
        }
        PyArray_ScalarAsCtype(value, to);
        return 1;
    }
    int type = scalar->type;
    if (type == NPY_CDOUBLE || type == NPY_CFLOAT) {
        bool wide = type == NPY_CDOUBLE;
        double imaginary = PyComplex_CheckExact(value) ? PyComplex_ImagAsDouble(value) : 0.0;
        type = wide ? NPY_DOUBLE : NPY_FLOAT;
        if (!store_number(to + (wide ? sizeof(double) : sizeof(float)), imaginary, type)) {
            return 0;
        }
        if (PyComplex_CheckExact(value)) {
            return store_number(to, PyComplex_RealAsDouble(value), type);
        }
    }
    if (PyFloat_CheckExact(value)) {
        return store_number(to, PyFloat_AS_DOUBLE(value), type);
    }
    if (!PyLong_CheckExact(value) && !PyBool_Check(value)) {
        return 0;
    }
    if (type == NPY_DOUBLE || type == NPY_FLOAT) {
        double number = PyLong_AsDouble(value);
        if (number == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return store_number(to, number, type);
    }
    int overflow;
    npy_longlong number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow ? 0 : store_integer(to, number, type);
}

/* The shape in common; -1: these do not broadcast, or there are too many axes. */
static int common_shape(const Kernel *kernel, const KernelView *views, npy_intp *shape)
{
    int ndim = 0;
    for (int i = 0; i < kernel->n_operands; i++) {
        if (views[i].ndim > ndim) {
            ndim = views[i].ndim;
        }
    }
    for (int axis = 0; axis < ndim; axis++) {
        shape[axis] = 1;
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        npy_intp *to = shape + ndim - views[i].ndim;
        for (int axis = 0; axis < views[i].ndim; axis++) {
            npy_intp size = views[i].dims[axis];
            if (to[axis] == 1) {
                to[axis] = size;
            }
            else if (size != 1 && size != to[axis]) {
                return -1;
            }
        }
    }
    return ndim;
}

/* Whether an operand of all elements lies in one piece, in C's or Fortran's order: copies of others lie otherwise than what ufuncs make. */
static bool is_one_piece(const KernelView *view, npy_intp itemsize, int ndim, const npy_intp *shape)
{
    if (view->ndim != ndim || !PyArray_CompareLists(view->dims, shape, ndim)) {
        return true;                        /* it is repeated, so nothing copies it */
    }
    npy_intp c = itemsize, fortran = itemsize;
    bool in_c = true, in_fortran = true;
    for (int i = 0; i < ndim; i++) {
        int last = ndim - 1 - i;
        in_c = in_c && (shape[last] == 1 || view->strides[last] == c);
        in_fortran = in_fortran && (shape[i] == 1 || view->strides[i] == fortran);
        c *= shape[last];
        fortran *= shape[i];
    }
    return in_c || in_fortran;
}

/* Whether all arrays of the run lie as Fortran has them, so that results do. */
static bool is_fortran(const Kernel *kernel, PyObject *const *args, const KernelView *views, int ndim,
                       const npy_intp *shape)
{
    bool found = false;
    for (int i = 0; i < kernel->n_operands; i++) {
        const KernelOperand *operand = &kernel->operands[i];
        PyArrayObject *array = (PyArrayObject *)args[operand->argument];
        if (views[i].ndim == 0) {
            continue;
        }
        bool whole = operand->n_code == 0 && PyArray_IS_F_CONTIGUOUS(array) &&
                     !PyArray_IS_C_CONTIGUOUS(array);
        if (views[i].ndim != ndim || !PyArray_CompareLists(views[i].dims, shape, ndim) ||
            !(whole || bcjit_kernel_view_is_fortran(&views[i]))) {
            return false;
        }
        found = true;
    }
    return found;
}

/* Strides in the order of the run; 0 if results would not lie in C order, as NumPy's iterator goes by the operands' strides. */
static int set_strides(Run *run, const KernelView *view, Operand *operand, int ndim, bool in_order)
{
    int missing = ndim - view->ndim;
    npy_intp before = NPY_MAX_INTP;
    operand->data = view->data;
    operand->is_rolled = view->is_rolled;
    for (int axis = 0; axis < ndim; axis++) {
        int from = run->order[axis] - missing;
        npy_intp stride = 0;
        operand->firsts[axis] = 0;
        if (from >= 0 && view->dims[from] != 1) {
            stride = view->strides[from];
            operand->firsts[axis] = view->is_rolled ? view->firsts[from] : 0;
        }
        if (stride < 0 && run->kernel->n_loops > 0) {
            return 0;                       /* some of NumPy's loops go another way there, with other last bits */
        }
        operand->strides[axis] = stride;
        npy_intp size = stride < 0 ? -stride : stride;
        if (size != 0) {
            if (in_order && size > before) {
                return 0;
            }
            before = size;
        }
    }
    return 1;
}

/* Drops axes of one element and merges those that are one axis in all operands. */
static void merge_axes(Run *run, int ndim)
{
    int last = -1;
    for (int axis = 0; axis < ndim; axis++) {
        if (run->dims[axis] == 1) {
            continue;
        }
        bool merges = last >= 0;
        for (int i = 0; merges && i < run->n_strided; i++) {
            const npy_intp *strides = run->operands[i].strides;
            merges = strides[last] == strides[axis] * run->dims[axis] && run->operands[i].firsts[axis] == 0;
        }
        npy_intp size = run->dims[axis];
        if (merges) {
            run->dims[last] *= run->dims[axis];
        }
        else {
            run->dims[++last] = run->dims[axis];
        }
        for (int i = 0; i < run->n_strided; i++) {
            Operand *operand = &run->operands[i];
            operand->strides[last] = operand->strides[axis];
            operand->firsts[last] = merges ? operand->firsts[last] * size : operand->firsts[axis];
        }
    }
    if (last < 0) {                         /* one element */
        run->dims[++last] = 1;
        for (int i = 0; i < run->n_strided; i++) {
            run->operands[i].strides[last] = 0;
        }
    }
    run->ndim = last + 1;
}

/* How each operand is read: where it lies, or by blocks that are copied. Returns the bytes for these. `streams`: what is computed is
 * stored block by block. */
static size_t choose_way(Run *run, bool streams)
{
    npy_intp width = run->kernel->width, chunk = run->kernel->chunk;
    int inner = run->ndim - 1;
    size_t room = 0;
    bool whole = true, rows = true, alike = run->kernel->n_loops == 0;
    for (int i = 0; i < run->n_operands; i++) {
        Operand *operand = &run->operands[i];
        operand->whole = true;
        operand->period = 0;
        npy_intp expected = operand->itemsize;
        for (int axis = inner; axis >= 0; axis--) {
            operand->whole = operand->whole && operand->strides[axis] == expected;
            expected *= run->dims[axis];
        }
        operand->whole = (operand->whole && !operand->is_rolled) || run->total == 1;
        int leading = 0;
        while (leading < run->ndim && operand->strides[leading] == 0) {
            leading++;
        }
        if (leading > 0) {
            operand->period = 1;
            for (int axis = leading; axis < run->ndim; axis++) {
                operand->period *= run->dims[axis];
            }
        }
        whole = whole && operand->whole;
        rows = rows && (operand->strides[inner] == operand->itemsize || operand->strides[inner] == 0) &&
               !operand->is_rolled;
        alike = alike && operand->strides[inner] == operand->itemsize;
    }
    npy_intp shortest = alike ? SHORTEST_ROW : SHORT_ROW;
    run->by_rows = !streams && !whole && rows && run->ndim > 1 && run->dims[inner] >= shortest &&
                   run->dims[inner] >= width && run->dims[inner] <= LONG_ROW;
    for (int i = 0; i < run->n_operands; i++) {
        Operand *operand = &run->operands[i];
        bool copied = run->by_rows ? operand->strides[inner] == 0 : !operand->whole;
        operand->buffer = copied ? (char *)(room + 1) : NULL;
        if (copied) {
            room += (size_t)(chunk * operand->itemsize + 63) & ~(size_t)63;
        }
    }
    return room;
}

static PyObject *new_result(const Kernel *kernel, int i, int ndim, const npy_intp *shape, bool fortran)
{
    PyArray_Descr *descr = kernel->results[i].descr;
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, ndim, shape, NULL, NULL,
                                fortran ? NPY_ARRAY_F_CONTIGUOUS : 0, NULL);
}

/* Room for padding on the stack, where a call is short. */
#define SMALL_ROOM 4096

/* The usual small call: operands of one shape that lie side by side in one order. 2: it is none, or may be none. */
static int compute_alike(Kernel *kernel, PyObject *const *args, PyObject **results)
{
    PyArrayObject *first = (PyArrayObject *)args[kernel->operands[0].argument];
    char *data[KERNEL_OPERANDS + KERNEL_RESULTS];
    int flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED, ndim = 0;
    for (int i = 0; i < kernel->n_operands; i++) {
        const KernelOperand *expected = &kernel->operands[i];
        PyArrayObject *array = (PyArrayObject *)args[expected->argument];
        if (Py_TYPE(array) != &PyArray_Type || PyArray_TYPE(array) != expected->type ||
            !PyArray_ISNOTSWAPPED(array)) {
            return 2;
        }
        flags &= PyArray_FLAGS(array);
        data[i] = PyArray_BYTES(array);
        if (i == 0) {
            ndim = PyArray_NDIM(array);
        }
        else if (PyArray_NDIM(array) != ndim) {
            return 2;
        }
        for (int axis = 0; axis < ndim; axis++) {
            if (PyArray_DIM(array, axis) != PyArray_DIM(first, axis)) {
                return 2;
            }
        }
    }
    npy_intp total = 1;
    bool thin = false;
    for (int i = 0; kernel->n_loops > 0 && ndim == 1 && PyArray_DIM(first, 0) == 1 && i < kernel->n_operands; i++) {
        PyArrayObject *array = (PyArrayObject *)args[kernel->operands[i].argument];
        if (PyArray_STRIDE(array, 0) != kernel->operands[i].itemsize) {
            return 2;
        }
    }
    for (int axis = 0; axis < ndim; axis++) {
        total *= PyArray_DIM(first, axis);
        thin = thin || PyArray_DIM(first, axis) == 1;
    }
    if (thin && !(flags & NPY_ARRAY_C_CONTIGUOUS)) {
        return 2;
    }
    if (ndim < 1 || total < 1 || total >= WITHOUT_GIL || !(flags & NPY_ARRAY_ALIGNED) ||
        !(flags & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS))) {
        return 2;
    }
    char scalars[KERNEL_SLOTS * KERNEL_SCALAR_SIZE];
    if (kernel->n_tables > 0 && !bcjit_kernel_tables(kernel, args, scalars)) {
        return 0;
    }
    for (int i = 0; i < kernel->n_scalars; i++) {
        const KernelScalar *scalar = &kernel->scalars[i];
        if (!store_scalar(scalars + i * KERNEL_SCALAR_SIZE, args[scalar->argument], scalar)) {
            return 0;
        }
    }
    size_t needed = (size_t)kernel->scratch, got = 0;
    if (total < kernel->width) {
        needed += (size_t)kernel->padding;
    }
    char small[SMALL_ROOM + 64], *memory = small;
    if (needed > SMALL_ROOM) {
        memory = scratch_take(needed + 64, &got);
        if (memory == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    for (int i = 0; i < kernel->n_results; i++) {
        results[i] = new_result(kernel, i, ndim, PyArray_DIMS(first),
                                !(flags & NPY_ARRAY_C_CONTIGUOUS));
        if (results[i] == NULL) {
            scratch_give(got == 0 ? NULL : memory, got);
            return -1;
        }
        data[kernel->n_operands + i] = PyArray_BYTES((PyArrayObject *)results[i]);
    }
    char *scratch = (char *)(((npy_uintp)memory + 63) & ~(npy_uintp)63);
    unsigned int raised = 0;
    if (kernel->n_loops != 0) {
        flags_clear();
        run_side_by_side(kernel, scalars, data, total, scratch);
        raised = flags_raised();
    }
    else {
        vector_flags_clear();
        run_side_by_side(kernel, scalars, data, total, scratch);
        raised = vector_flags_raised();
    }
    scratch_give(got == 0 ? NULL : memory, got);
    return kernel_outcome(&kernel->head, raised);
}

static int compute(Kernel *kernel, PyObject *const *args, PyObject **results)
{
    if (kernel->masked) {
        return bcjit_kernel_masked(kernel, args);
    }
    int alike = kernel->is_plain ? compute_alike(kernel, args, results) : 2;
    if (alike != 2) {
        return alike;
    }
    npy_intp shape[MAX_DIMS];
    KernelView views[KERNEL_OPERANDS + 1];
    Run run;
    for (int i = 0; i < kernel->n_operands; i++) {
        const KernelOperand *expected = &kernel->operands[i];
        PyObject *value = args[expected->argument];
        if (Py_TYPE(value) != &PyArray_Type) {
            return 0;
        }
        PyArrayObject *array = (PyArrayObject *)value;
        if (PyArray_TYPE(array) != expected->type || !PyArray_ISALIGNED(array) ||
            !PyArray_ISNOTSWAPPED(array) || !bcjit_kernel_view(expected, args, &views[i])) {
            return 0;
        }
    }
    if (kernel->n_tables > 0 && !bcjit_kernel_tables(kernel, args, run.scalars)) {
        return 0;
    }
    for (int i = 0; i < kernel->n_scalars; i++) {
        const KernelScalar *scalar = &kernel->scalars[i];
        if (!store_scalar(run.scalars + i * KERNEL_SCALAR_SIZE, args[scalar->argument], scalar)) {
            return 0;
        }
    }
    int ndim = common_shape(kernel, views, shape);
    if (ndim < 1) {
        return 0;                           /* NumPy gives scalars there */
    }
    KernelView *to = kernel->writes ? &views[kernel->n_operands] : NULL;
    int n_new = kernel->n_results - kernel->writes;
    for (int i = 0; kernel->layouts > 0 && n_new > 0 && i < kernel->n_operands; i++) {
        if (kernel->layouts > 1) {
            if (!PyArray_IS_C_CONTIGUOUS((PyArrayObject *)args[kernel->operands[i].argument])) {
                return 0;
            }
        }
        else if (!is_one_piece(&views[i], kernel->operands[i].itemsize, ndim, shape)) {
            return 0;
        }
    }
    if (to != NULL && (Py_TYPE(args[kernel->destination.argument]) != &PyArray_Type ||
                       !bcjit_kernel_destination(kernel, args, to) ||
                       !bcjit_kernel_fits(to, &ndim, shape, n_new > 0))) {
        return 0;
    }
    run.kernel = kernel;
    run.n_operands = kernel->n_operands;
    run.n_strided = kernel->n_operands + kernel->writes;
    run.n_results = kernel->n_results;
    run.flags = 0;
    bool fortran = n_new > 0 && ndim > 1 && is_fortran(kernel, args, views, ndim, shape);
    for (int axis = 0; axis < ndim; axis++) {
        run.order[axis] = fortran ? ndim - 1 - axis : axis;
        if (fortran && shape[axis] == 1) {
            return 0;                       /* where NumPy casts, axes of one element come first, else not */
        }
    }
    if (n_new == 0) {
        bcjit_kernel_order(to, run.order);
    }
    for (int axis = 0; axis < ndim; axis++) {
        run.dims[axis] = shape[run.order[axis]];
    }
    for (int i = 0; i < run.n_strided; i++) {
        bool in_order = n_new > 0 && i < run.n_operands;
        run.operands[i].itemsize = i < run.n_operands ? kernel->operands[i].itemsize
                                                      : kernel->destination.itemsize;
        if (!set_strides(&run, &views[i], &run.operands[i], ndim, in_order)) {
            return 0;
        }
    }
    run.total = PyArray_MultiplyList(shape, ndim);
    if (run.total == 1 && kernel->n_loops > 0) {
        return KERNEL_TOO_FEW;              /* NumPy's loops see strides of any size there, also below 0 */
    }
    for (int i = 0; i < kernel->n_results; i++) {
        run.result_size[i] = kernel->results[i].itemsize;
        if (i == n_new) {
            break;
        }
        results[i] = new_result(kernel, i, ndim, shape, fortran);
        if (results[i] == NULL) {
            return -1;
        }
        run.results[i] = PyArray_BYTES((PyArrayObject *)results[i]);
    }
    if (run.total == 0) {
        if (kernel->computes_numbers) {
            return KERNEL_TOO_FEW;
        }
        for (int i = 0; i < kernel->n_operands; i++) {
            if (PyArray_MultiplyList(views[i].dims, views[i].ndim) != 0) {
                return 0;                   /* NumPy computes with it what it stores nowhere */
            }
        }
        return 1;
    }
    merge_axes(&run, ndim);
    bool streams = to != NULL && !kernel->head.checks_flags && is_apart(&run);
    size_t room = choose_way(&run, streams), stored = 0, got = 0;
    size_t fixed = (size_t)(kernel->scratch + kernel->padding), stride = fixed + room;
    int threads = run.total < WITHOUT_GIL ? 1 : bcjit_pool_threads();
    if (threads < 0) {
        return -1;
    }
    if (to != NULL) {
        stored = (size_t)((streams ? kernel->chunk : run.total) * run.result_size[n_new]);
    }
    char *memory = scratch_take((size_t)threads * stride + stored + 64, &got);
    if (memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    char *scratch = (char *)(((npy_uintp)memory + 63) & ~(npy_uintp)63);
    for (int i = 0; i < run.n_operands; i++) {
        if (run.operands[i].buffer != NULL) {
            run.operands[i].buffer = scratch + fixed + ((npy_uintp)run.operands[i].buffer - 1);
        }
    }
    if (to != NULL) {
        run.results[n_new] = scratch + (size_t)threads * stride;
    }
    int done = 1;
    if (streams) {
        run_streamed(&run, run.results[n_new], scratch);
    }
    else {
        done = run_all(kernel, &run, scratch, stride, threads) < 0 ? -1 : 1;
    }
    if (done > 0) {
        done = kernel_outcome(&kernel->head, run.flags);
    }
    if (done > 0 && to != NULL && !streams) {
        const Operand *place = &run.operands[run.n_operands];
        KernelView merged = {.data = place->data, .ndim = run.ndim};
        memcpy(merged.dims, run.dims, sizeof(merged.dims));
        memcpy(merged.strides, place->strides, sizeof(merged.strides));
        bcjit_kernel_store(&merged, run.results[n_new], run.result_size[n_new]);
    }
    scratch_give(memory, got);
    return done;
}

/* ---- Kernel ---------------------------------------------------------------------------------- */

/* Whether an operand has so many elements that NumPy is asked. */
static bool is_for_numpy(const Kernel *kernel, PyObject *const *args)
{
    for (int i = 0; i < kernel->n_operands; i++) {
        PyObject *value = args[kernel->operands[i].argument];
        if (PyArray_CheckExact(value) && PyArray_SIZE((PyArrayObject *)value) > kernel->most) {
            return true;
        }
    }
    return false;
}

static PyObject *Kernel_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Kernel *kernel = (Kernel *)self;
    PyObject *results[KERNEL_RESULTS] = {NULL};
    if (!kernel_is_asked(&kernel->head, nargsf, kwnames) || (kernel->most != 0 && is_for_numpy(kernel, args))) {
        return kernel_falls_back(&kernel->head, args, nargsf, kwnames);
    }
    kernel->head.calls++;
    int done = compute(kernel, args, results), n = kernel->n_results - kernel->writes;
    if (done <= 0) {
        return kernel_no_results(&kernel->head, done, results, n, args);
    }
    return kernel_results(results, n, kernel->n_handed);
}

static int read_operand(const Kernel *kernel, KernelOperand *operand, PyObject *given)
{
    PyObject *code = NULL;                  /* none for the argument itself */
    int through = 0;
    if (!PyArg_ParseTuple(given, "ii|O!p", &operand->argument, &operand->type, &PyTuple_Type, &code, &through) ||
        (code != NULL && bcjit_kernel_read_code(operand, code) < 0)) {
        return -1;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(operand->type);
    if (descr == NULL) {
        return -1;
    }
    operand->itemsize = PyDataType_ELSIZE(descr);
    operand->through = (char)through;
    Py_DECREF(descr);
    if (operand->argument < 0 || operand->argument >= kernel->head.n_arguments) {
        PyErr_SetString(PyExc_ValueError, "Kernel: no such argument");
        return -1;
    }
    return 0;
}

static int read_operands(Kernel *kernel, PyObject *given)
{
    Py_ssize_t n = PyTuple_GET_SIZE(given);
    if (n < 1 || n > KERNEL_OPERANDS) {
        PyErr_SetString(PyExc_ValueError, "Kernel: too many operands, or none");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        kernel->n_operands = (int)i + 1;
        if (read_operand(kernel, &kernel->operands[i], PyTuple_GET_ITEM(given, i)) < 0) {
            return -1;
        }
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        kernel->sizes[i] = kernel->operands[i].itemsize;
    }
    return 0;
}

static int read_scalars(Kernel *kernel, PyObject *given)
{
    Py_ssize_t n = PyTuple_GET_SIZE(given);
    if (n > KERNEL_SCALARS) {
        PyErr_SetString(PyExc_ValueError, "Kernel: too many scalars");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        KernelScalar *scalar = &kernel->scalars[i];
        int is_numpy;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "iip", &scalar->argument, &scalar->type,
                              &is_numpy)) {
            return -1;
        }
        if (scalar->argument < 0 || scalar->argument >= kernel->head.n_arguments) {
            PyErr_SetString(PyExc_ValueError, "Kernel: no such argument");
            return -1;
        }
        if (is_numpy) {
            /* The static types of NumPy's scalars. */
            PyObject *type = PyArray_TypeObjectFromType(scalar->type);
            if (type == NULL) {
                return -1;
            }
            scalar->numpy_type = (PyTypeObject *)type;
        }
    }
    kernel->n_scalars = (int)n;
    return 0;
}

static int read_tables(Kernel *kernel, PyObject *given)
{
    Py_ssize_t n = given == NULL ? 0 : PyTuple_GET_SIZE(given);
    if (n > KERNEL_TABLES) {
        PyErr_SetString(PyExc_ValueError, "Kernel: too many tables");
        return -1;
    }
    for (int i = 0; i < n; i++) {
        PyObject *row;
        kernel->n_tables = i + 1;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "O!i", &PyTuple_Type, &row,
                              &kernel->table_axes[i]) ||
            read_operand(kernel, &kernel->tables[i], row) < 0) {
            return -1;
        }
        if (kernel->table_axes[i] < 1 || kernel->table_axes[i] >= KERNEL_TABLE_SLOTS) {
            PyErr_SetString(PyExc_ValueError, "Kernel: a table of too many axes");
            return -1;
        }
    }
    return 0;
}

static int read_results(Kernel *kernel, PyObject *given)
{
    Py_ssize_t n = PyTuple_GET_SIZE(given);
    if (n < 1 || n > KERNEL_RESULTS) {
        PyErr_SetString(PyExc_ValueError, "Kernel: too many results, or none");
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        long type = PyLong_AsLong(PyTuple_GET_ITEM(given, i));
        if (type == -1 && PyErr_Occurred()) {
            return -1;
        }
        kernel->results[i].descr = PyArray_DescrFromType((int)type);
        if (kernel->results[i].descr == NULL) {
            return -1;
        }
        kernel->results[i].itemsize = PyDataType_ELSIZE(kernel->results[i].descr);
        kernel->n_results = (int)i + 1;
        kernel->sizes[kernel->n_operands + i] = kernel->results[i].itemsize;
    }
    return 0;
}

static int read_loops(Kernel *kernel, PyObject *given)
{
    Py_ssize_t n = PyTuple_GET_SIZE(given);
    kernel->loops = PyMem_Calloc((size_t)n + 1, sizeof(void *));
    if (kernel->loops == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        kernel->loops[i] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(given, i));
        if (kernel->loops[i] == NULL && PyErr_Occurred()) {
            return -1;
        }
    }
    kernel->n_loops = (int)n;
    return 0;
}

static PyObject *Kernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"run", "owner", "fallback", "n_arguments", "n_fallback", "operands", "scalars",
                            "results", "loops", "width", "block", "scratch", "checks_flags",
                            "warns_here", "destination", "n_handed", "layouts", "most", "mask", "tables",
                            "computes_numbers", NULL};
    PyObject *address, *owner, *fallback, *operands, *scalars, *results, *loops;
    PyObject *destination = Py_None, *mask = Py_None, *tables = NULL;
    int n_arguments, n_fallback, checks_flags, warns_here, n_handed = 0, layouts = 0, computes_numbers = 0;
    Py_ssize_t width, block, scratch, most = 0;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O!OOiiO!O!O!O!nnnip|OiinOO!p:Kernel", names, &PyLong_Type, &address, &owner,
            &fallback, &n_arguments, &n_fallback, &PyTuple_Type, &operands, &PyTuple_Type, &scalars,
            &PyTuple_Type, &results, &PyTuple_Type, &loops, &width, &block, &scratch,
            &checks_flags, &warns_here, &destination, &n_handed, &layouts, &most, &mask,
            &PyTuple_Type, &tables, &computes_numbers)) {
        return NULL;
    }
    if (width < 1 || block < width || scratch < 0 || n_handed < 0) {
        PyErr_SetString(PyExc_ValueError, "Kernel: width, block, scratch or results");
        return NULL;
    }
    Kernel *kernel = (Kernel *)type->tp_alloc(type, 0);
    if (kernel == NULL) {
        return NULL;
    }
    kernel->array_type = &PyArray_Type;
    kernel->owner = Py_NewRef(owner);
    kernel->width = width;
    kernel->block = block;
    kernel->chunk = block < KERNEL_CHUNK ? block : width > KERNEL_CHUNK ? width : KERNEL_CHUNK;
    kernel->scratch = (scratch + 63) & ~(npy_intp)63;
    kernel->writes = destination != Py_None;
    kernel->n_handed = n_handed;
    kernel->layouts = (char)layouts;
    kernel->most = most;
    kernel->computes_numbers = computes_numbers;
    kernel->masked = mask != Py_None;
    kernel->run = (kernel_run)(npy_uintp)PyLong_AsVoidPtr(address);
    if (kernel_head_init(&kernel->head, Kernel_call, fallback, n_arguments, n_fallback, checks_flags, warns_here) < 0 ||
        kernel->run == NULL || read_operands(kernel, operands) < 0 ||
        read_scalars(kernel, scalars) < 0 || read_results(kernel, results) < 0 ||
        read_loops(kernel, loops) < 0 || read_tables(kernel, tables) < 0 ||
        (kernel->masked && (!kernel->writes || kernel->n_results != 1)) ||
        (kernel->writes && read_operand(kernel, &kernel->destination, destination) < 0) ||
        (kernel->masked && read_operand(kernel, &kernel->mask, mask) < 0)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "Kernel: no machine code");
        }
        Py_DECREF(kernel);
        return NULL;
    }
    for (int i = 0; i < kernel->n_operands + kernel->n_results; i++) {
        kernel->padding += kernel->width * kernel->sizes[i];
    }
    kernel->padding = (kernel->padding + 127) & ~(npy_intp)63;
    kernel->is_plain = !kernel->writes;
    for (int i = 0; i < kernel->n_operands; i++) {
        kernel->is_plain = kernel->is_plain && kernel->operands[i].n_code == 0;
    }
    return (PyObject *)kernel;
}

static int Kernel_traverse(Kernel *self, visitproc visit, void *arg)
{
    Py_VISIT(self->owner);
    Py_VISIT(self->head.fallback);
    return 0;
}

static int Kernel_clear(Kernel *self)
{
    Py_CLEAR(self->head.fallback);
    Py_CLEAR(self->owner);
    self->head.off = 1;
    return 0;
}

static void Kernel_dealloc(Kernel *self)
{
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < self->n_results; i++) {
        Py_XDECREF(self->results[i].descr);
    }
    for (int i = 0; i < self->n_scalars; i++) {
        Py_XDECREF(self->scalars[i].numpy_type);
    }
    for (int i = 0; i < self->n_operands; i++) {
        PyMem_Free(self->operands[i].code);
    }
    PyMem_Free(self->destination.code);
    PyMem_Free(self->mask.code);
    for (int i = 0; i < self->n_tables; i++) {
        PyMem_Free(self->tables[i].code);
    }
    PyMem_Free(self->loops);
    Kernel_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject BcjitKernel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.Kernel",
    .tp_doc = "Machine code for the elements of arrays, as a callable over arrays.",
    .tp_basicsize = sizeof(Kernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = Kernel_new,
    .tp_dealloc = (destructor)Kernel_dealloc,
    .tp_traverse = (traverseproc)Kernel_traverse,
    .tp_clear = (inquiry)Kernel_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(KernelHead, vectorcall),
    .tp_members = bcjit_kernel_members,
};

/* ufunc_loop(ufunc, index) -> (address, address of its data) of an inner loop of a ufunc. */
PyObject *bcjit_ufunc_loop(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given;
    int index;
    if (!PyArg_ParseTuple(args, "Oi:ufunc_loop", &given, &index)) {
        return NULL;
    }
    if (!PyObject_TypeCheck(given, &PyUFunc_Type)) {
        PyErr_SetString(PyExc_TypeError, "ufunc_loop: a ufunc is expected");
        return NULL;
    }
    PyUFuncObject *ufunc = (PyUFuncObject *)given;
    if (index < 0 || index >= ufunc->ntypes || ufunc->functions == NULL) {
        PyErr_SetString(PyExc_ValueError, "ufunc_loop: no such loop");
        return NULL;
    }
    void *data = ufunc->data == NULL ? NULL : (void *)ufunc->data[index];
    return Py_BuildValue("NN", PyLong_FromVoidPtr((void *)(npy_uintp)ufunc->functions[index]),
                         PyLong_FromVoidPtr(data));
}

int bcjit_kernel_init(PyObject *module)
{
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) {
        return -1;
    }
    if (bcjit_masks_init() < 0) {
        return -1;
    }
    if (PyModule_AddType(module, &BcjitKernel_Type) < 0 || bcjit_reduce_init(module) < 0) {
        return -1;
    }
    return bcjit_scan_init(module);
}
