/* kernel_masks.c - elements that a mask selects: read side by side, computed, and stored where they came from.
 *
 * Long runs of what is selected are read where they lie, all else is gathered, a block at a time; what is not selected is never computed with.
 * All is computed before anything is stored, so it does not matter what shares memory with what, and where NumPy has to do it
 * instead, nothing has happened yet. Only where no flag can matter, and each operand is the very same array or none of its memory, blocks
 * are stored one by one. */
#include "kernel.h"
#include "kernel_flags.h"
#include "kernel_pool.h"

#include <string.h>

typedef npy_uint32 Place;

/* How an operand takes part. */
typedef struct {
    char *data;
    npy_intp stride, itemsize;
    bool through;                           /* read at the places that the mask selects */
} Lane;

enum { BATCH = 1024 };                      /* places found at once */
enum { LONG_RUN = 256 };                    /* neighbours that are worth a call of the machine code of their own */
enum { LONGEST_RUN = 1 << 16 };
enum { SPAN = 1 << 16 };                    /* elements of the mask that are counted at once */

typedef struct {
    Kernel *kernel;
    const char *mask;
    npy_intp mask_stride, total;
    npy_intp *before;                       /* how many are selected before each span */
    npy_intp longest;
    Lane lanes[KERNEL_OPERANDS];
    Lane to;
    char *stored;                           /* what is computed, side by side; NULL: it is stored block by block */
    const char *scalars;
    char *scratch;
    size_t stride;                          /* bytes of each thread's scratch */
    npy_intp piece;                         /* spans of a piece */
    unsigned int flags;
} Selection;

/* ---- places ---------------------------------------------------------------------------------- */

#define ONES ((npy_uint64)0x0101010101010101u)

/* For each byte the numbers of its bits that are set. */
static npy_uint8 bits_of[256][8];

int bcjit_masks_init(void)
{
    for (int byte = 0; byte < 256; byte++) {
        for (int bit = 0, n = 0; bit < 8; bit++) {
            if (byte >> bit & 1) {
                bits_of[byte][n++] = (npy_uint8)bit;
            }
        }
    }
    return PyArray_ImportNumPyAPI();
}

static inline npy_uint64 word_at(const char *mask)
{
    npy_uint64 word;
    memcpy(&word, mask, sizeof(word));
    return word;
}

/* How many elements of a mask are true; -1: a byte of it is neither 0 nor 1. */
static npy_intp count_true(const char *mask, npy_intp stride, npy_intp n)
{
    npy_intp found = 0, i = 0;
    npy_uint64 seen = 0;
    while (stride == 1 && i + 8 <= n) {
        npy_uint64 sums = 0;                /* of each of eight bytes */
        for (int k = 0; k < 255 && i + 8 <= n; k++, i += 8) {
            npy_uint64 word = word_at(mask + i);
            seen |= word;
            sums += word;
        }
        sums = (sums & 0x00ff00ff00ff00ffu) + (sums >> 8 & 0x00ff00ff00ff00ffu);
        found += (npy_intp)((sums * 0x0001000100010001u) >> 48);
    }
    for (; i < n; i++) {
        npy_uint8 byte = (npy_uint8)mask[i * stride];
        seen |= byte;
        found += byte;
    }
    return seen & ~ONES ? -1 : found;
}

typedef struct {
    const char *mask;
    npy_intp stride, at, stop, longest;
} Scan;

/* The next that are selected, 0 when there are no more: a run of neighbours from `first` on, or those at `places`, if `first` is -1. */
static npy_intp next_selected(Scan *scan, Place *places, npy_intp *first)
{
    npy_intp found = 0, at = scan->at;
    *first = -1;
#if NPY_BYTE_ORDER == NPY_LITTLE_ENDIAN
    while (scan->stride == 1 && at + 8 <= scan->stop && found <= BATCH - LONG_RUN) {
        npy_uint64 word = word_at(scan->mask + at);
        if (word == 0) {
            at += 8;
            continue;
        }
        npy_intp end = at + 8;
        if (word == ONES) {
            npy_intp most = scan->longest < scan->stop - at ? at + scan->longest : scan->stop;
            while (end + 8 <= most && word_at(scan->mask + end) == ONES) {
                end += 8;
            }
            if (end - at >= LONG_RUN) {
                if (found == 0) {
                    *first = at;
                    found = end - at;
                    at = end;
                }
                scan->at = at;
                return found;
            }
        }
        for (; at < end; at += 8) {
            /* One bit of each byte, the first byte's lowest. */
            unsigned int byte = (unsigned int)((word * 0x0102040810204080u) >> 56);
            Place *next = places + found;
            for (int k = 0; k < 8; k++) {
                next[k] = (Place)at + bits_of[byte][k];
            }
            found += (npy_intp)((word * ONES) >> 56);
        }
    }
#endif
    if (scan->stride != 1 || at + 8 > scan->stop || NPY_BYTE_ORDER != NPY_LITTLE_ENDIAN) {
        for (; at < scan->stop && found < BATCH; at++) {
            places[found] = (Place)at;
            found += scan->mask[at * scan->stride];
        }
    }
    scan->at = at;
    return found;
}

/* ---- elements -------------------------------------------------------------------------------- */

typedef struct {
    npy_uint64 parts[2];
} Pair;

#define AS_TYPE(itemsize, DO) \
    switch (itemsize) { \
    case 1: DO(npy_uint8); break; \
    case 2: DO(npy_uint16); break; \
    case 4: DO(npy_uint32); break; \
    case 8: DO(npy_uint64); break; \
    default: DO(Pair); break; \
    }

/* Copies the elements at these places side by side; eight neighbours at once. */
static void take(char *to, const Lane *lane, const Place *places, npy_intp n)
{
#define TAKE_AS(type) \
    do { \
        npy_intp k = 0; \
        char *out = to; \
        for (; lane->stride == (npy_intp)sizeof(type) && k + 8 <= n; k += 8, out += 8 * sizeof(type)) { \
            const char *from = lane->data + (npy_intp)places[k] * (npy_intp)sizeof(type); \
            if (places[k + 7] - places[k] == 7) { \
                memcpy(out, from, 8 * sizeof(type)); \
                continue; \
            } \
            for (int j = 0; j < 8; j++) { \
                memcpy(out + j * sizeof(type), \
                       lane->data + (npy_intp)places[k + j] * (npy_intp)sizeof(type), sizeof(type)); \
            } \
        } \
        for (; k < n; k++, out += sizeof(type)) { \
            memcpy(out, lane->data + (npy_intp)places[k] * lane->stride, sizeof(type)); \
        } \
    } while (0)
    AS_TYPE(lane->itemsize, TAKE_AS)
#undef TAKE_AS
}

/* Stores elements that lie side by side at these places. */
static void put(const Lane *lane, const char *from, const Place *places, npy_intp n)
{
#define PUT_AS(type) \
    do { \
        npy_intp k = 0; \
        for (; lane->stride == (npy_intp)sizeof(type) && k + 8 <= n; k += 8, from += 8 * sizeof(type)) { \
            if (places[k + 7] - places[k] == 7) { \
                memcpy(lane->data + (npy_intp)places[k] * (npy_intp)sizeof(type), from, 8 * sizeof(type)); \
                continue; \
            } \
            for (int j = 0; j < 8; j++) { \
                memcpy(lane->data + (npy_intp)places[k + j] * (npy_intp)sizeof(type), \
                       from + j * sizeof(type), sizeof(type)); \
            } \
        } \
        for (; k < n; k++, from += sizeof(type)) { \
            memcpy(lane->data + (npy_intp)places[k] * lane->stride, from, sizeof(type)); \
        } \
    } while (0)
    AS_TYPE(lane->itemsize, PUT_AS)
#undef PUT_AS
}

/* ---- running --------------------------------------------------------------------------------- */

static Scan scan_of(const Selection *all, npy_intp start, npy_intp stop, npy_intp longest)
{
    return (Scan){all->mask, all->mask_stride, start, stop, longest};
}

static void store_at(const Lane *to, const char *from, npy_intp first, const Place *places, npy_intp count)
{
    if (first < 0) {
        put(to, from, places, count);
    }
    else {
        bcjit_kernel_store_row(to->data + first * to->stride, to->stride, from, count, to->itemsize);
    }
}

/* Spans [start, stop) of the mask. */
static void run_spans(const Selection *all, npy_intp start, npy_intp stop, char *scratch)
{
    const Kernel *kernel = all->kernel;
    npy_intp last = stop * SPAN < all->total ? stop * SPAN : all->total;
    Scan scan = scan_of(all, start * SPAN, last, all->longest);
    npy_intp done = all->before[start], first, count;
    char *data[KERNEL_OPERANDS + KERNEL_RESULTS];
    Place places[BATCH + 8];
    while ((count = next_selected(&scan, places, &first)) > 0) {
        char *buffer = scratch + kernel->scratch + kernel->padding;
        for (int i = 0; i < kernel->n_operands; i++) {
            const Lane *lane = &all->lanes[i];
            bool gathered = lane->through && first < 0;
            data[i] = buffer;
            if (gathered) {
                take(buffer, lane, places, count);
            }
            else {
                char *from = lane->data + (lane->through ? first : done) * lane->stride;
                if (lane->stride == lane->itemsize) {
                    data[i] = from;
                    continue;
                }
                copy_strided(buffer, from, lane->stride, count, lane->itemsize);
            }
            buffer += BATCH * lane->itemsize;
        }
        char *to = all->stored == NULL ? buffer : all->stored + done * all->to.itemsize;
        data[kernel->n_operands] = to;
        bcjit_kernel_side_by_side(kernel, all->scalars, data, count, scratch);
        if (all->stored == NULL) {
            store_at(&all->to, to, first, places, count);
        }
        done += count;
    }
}

static void store_all(const Selection *all)
{
    Scan scan = scan_of(all, 0, all->total, LONGEST_RUN);
    npy_intp done = 0, first, count;
    Place places[BATCH + 8];
    while ((count = next_selected(&scan, places, &first)) > 0) {
        store_at(&all->to, all->stored + done * all->to.itemsize, first, places, count);
        done += count;
    }
}

static void run_piece(void *context, Py_ssize_t i, int slot)
{
    Selection *all = context;
    npy_intp spans = (all->total + SPAN - 1) / SPAN, start = i * all->piece;
    npy_intp stop = spans - start < all->piece ? spans : start + all->piece;
    flags_clear();
    run_spans(all, start, stop, all->scratch + (size_t)slot * all->stride);
#ifdef _WIN32
    all->flags |= flags_raised();
#else
    __atomic_fetch_or(&all->flags, flags_raised(), __ATOMIC_RELAXED);
#endif
}

static void run_pieces(Selection *all, int threads)
{
    Kernel *kernel = all->kernel;
    npy_intp spans = (all->total + SPAN - 1) / SPAN;
    int used = kernel->pace * (double)all->total > POOL_PAYS ? threads : 1;
    all->piece = used < 2 ? spans : spans / ((npy_intp)used * 4) + 1;
    double before = bcjit_pool_now();
    bcjit_pool_run(run_piece, all, (spans + all->piece - 1) / all->piece, used);
    double took = bcjit_pool_now() - before;
    if (took > 0) {                         /* or the clock was set back */
        kernel->pace = took * used / (double)all->total;
    }
}

/* ---- from objects ---------------------------------------------------------------------------- */

/* 1 done, 0 not what the kernel is for. */

static int view_of(const KernelOperand *operand, PyObject *const *args, KernelView *view)
{
    PyArrayObject *array = (PyArrayObject *)args[operand->argument];
    return Py_TYPE(array) == &PyArray_Type && PyArray_TYPE(array) == operand->type &&
           PyArray_ISALIGNED(array) && PyArray_ISNOTSWAPPED(array) &&
           bcjit_kernel_view(operand, args, view);
}

/* All elements in C order as one axis. */
static int as_one_axis(const KernelView *view, npy_intp itemsize, Lane *lane)
{
    npy_intp span = 0;
    lane->data = view->data;
    lane->stride = lane->itemsize = itemsize;
    for (int axis = view->ndim - 1; axis >= 0; axis--) {
        if (view->dims[axis] == 1) {
            continue;
        }
        if (span == 0) {
            lane->stride = view->strides[axis];
            span = 1;
        }
        else if (view->strides[axis] != lane->stride * span) {
            return 0;
        }
        span *= view->dims[axis];
    }
    return 1;
}

static int alike(const KernelView *one, const KernelView *other)
{
    return one->ndim == other->ndim && PyArray_CompareLists(one->dims, other->dims, one->ndim);
}

/* Whether what is stored is read of each operand only at the same place, or not at all. */
static bool is_apart(const Selection *all, npy_intp n)
{
    Lane mask = {(char *)all->mask, all->mask_stride, 1, true};
    for (int i = -1; i < all->kernel->n_operands; i++) {
        const Lane *from = i < 0 ? &mask : &all->lanes[i], *to = &all->to;
        if (from->through && from->data == to->data && from->stride == to->stride &&
            from->itemsize == to->itemsize && i >= 0) {
            continue;
        }
        npy_intp last = (from->through ? all->total : n) - 1;
        npy_intp spans[2] = {last * from->stride, (all->total - 1) * to->stride};
        const char *low[2] = {from->data, to->data};
        const char *high[2] = {from->data + from->itemsize, to->data + to->itemsize};
        for (int k = 0; k < 2; k++) {
            low[k] += spans[k] < 0 ? spans[k] : 0;
            high[k] += spans[k] > 0 ? spans[k] : 0;
        }
        if (low[0] < high[1] && low[1] < high[0]) {
            return false;
        }
    }
    return true;
}

/* Counts what is selected before each span; -1: the mask is none, -2: no memory. */
static npy_intp count_spans(Selection *all, npy_intp *few)
{
    npy_intp spans = (all->total + SPAN - 1) / SPAN, found = 0;
    all->before = few;
    if (spans > 1) {
        all->before = PyMem_RawMalloc((size_t)spans * sizeof(npy_intp));
        if (all->before == NULL) {
            return -2;
        }
    }
    for (npy_intp i = 0, at = 0; i < spans; i++, at += SPAN) {
        npy_intp rest = all->total - at;
        npy_intp here = count_true(all->mask + at * all->mask_stride, all->mask_stride, rest < SPAN ? rest : SPAN);
        if (here < 0) {
            return -1;
        }
        all->before[i] = found;
        found += here;
    }
    return found;
}

/* From here on other threads run meanwhile. */
#define WITHOUT_GIL ((npy_intp)1 << 15)

/* -1: an error is set. */
static int run_masked(Selection *all, npy_intp n, size_t room)
{
    Kernel *kernel = all->kernel;
    bool streams = !kernel->head.checks_flags && is_apart(all, n), is_long = all->total >= WITHOUT_GIL;
    int threads = is_long ? bcjit_pool_threads() : 1;
    if (threads < 0) {
        PyErr_Clear();
        return 0;
    }
    size_t got, stored = streams ? 0 : (size_t)(n * all->to.itemsize);
    all->longest = streams ? BATCH : all->longest;
    all->stride = ((size_t)(kernel->scratch + kernel->padding) + room + 63) & ~(size_t)63;
    char *memory = scratch_take((size_t)threads * all->stride + stored + 64, &got);
    if (memory == NULL) {
        return 0;
    }
    all->scratch = (char *)(((npy_uintp)memory + 63) & ~(npy_uintp)63);
    all->stored = streams ? NULL : all->scratch + (size_t)threads * all->stride;
    PyThreadState *saved = is_long ? PyEval_SaveThread() : NULL;
    if (is_long) {
        run_pieces(all, threads);
    }
    else {
        flags_clear();
        run_spans(all, 0, 1, all->scratch);
        all->flags = flags_raised();
    }
    if (saved != NULL) {
        PyEval_RestoreThread(saved);
    }
    int done = kernel_outcome(&kernel->head, all->flags);
    if (done > 0 && !streams) {
        store_all(all);
    }
    scratch_give(memory, got);
    return done;
}

int bcjit_kernel_masked(Kernel *kernel, PyObject *const *args)
{
    KernelView mask, view;
    Lane selects;
    Selection all = {.kernel = kernel, .longest = LONGEST_RUN};
    char scalars[KERNEL_SCALARS * KERNEL_SCALAR_SIZE];
    const KernelOperand *to = &kernel->destination;
    if (!view_of(&kernel->mask, args, &mask) || mask.ndim < 1 || !as_one_axis(&mask, 1, &selects) ||
        Py_TYPE(args[to->argument]) != &PyArray_Type ||
        !bcjit_kernel_destination(kernel, args, &view) || !alike(&view, &mask) ||
        !as_one_axis(&view, to->itemsize, &all.to)) {
        return 0;
    }
    npy_intp lengths = -1, few[1];
    size_t room = (size_t)(BATCH * to->itemsize);
    all.mask = selects.data;
    all.mask_stride = selects.stride;
    all.total = PyArray_MultiplyList(mask.dims, mask.ndim);
    if (all.total >= NPY_MAX_UINT32 - 8) {
        return 0;
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        const KernelOperand *operand = &kernel->operands[i];
        Lane *lane = &all.lanes[i];
        if (!view_of(operand, args, &view)) {
            return 0;
        }
        if (operand->through) {
            if (!alike(&view, &mask) || !as_one_axis(&view, operand->itemsize, lane)) {
                return 0;
            }
        }
        else {
            if (view.ndim != 1 || (lengths >= 0 && lengths != view.dims[0])) {
                return 0;
            }
            if (view.strides[0] < 0 && kernel->n_loops > 0) {
                return 0;                   /* some of NumPy's loops go another way there, with other last bits */
            }
            lengths = view.dims[0];
            *lane = (Lane){view.data, view.strides[0], operand->itemsize, false};
        }
        lane->through = operand->through;
        all.longest = lane->stride == lane->itemsize ? all.longest : BATCH;
        room += (size_t)(BATCH * operand->itemsize);
    }
    for (int i = 0; i < kernel->n_scalars; i++) {
        const KernelScalar *scalar = &kernel->scalars[i];
        if (!store_scalar(scalars + i * KERNEL_SCALAR_SIZE, args[scalar->argument], scalar)) {
            return 0;
        }
    }
    all.scalars = scalars;
    npy_intp n = count_spans(&all, few);
    int done = n >= 0 && (lengths < 0 || lengths == n);
    if (done && n == 0 && kernel->computes_numbers) {
        done = KERNEL_TOO_FEW;
    }
    if (done > 0 && n > 0) {
        done = run_masked(&all, n, room);
    }
    if (all.before != few) {
        PyMem_RawFree(all.before);
    }
    return done;
}
