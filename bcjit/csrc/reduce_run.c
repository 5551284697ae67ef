/* reduce_run.c - computes a run of a ReduceKernel, tile by tile; it knows no Python object but the memory of arrays.
 *
 * Where the last axes are folded, a tile is some rows, and what is folded of a row is one number. Elsewhere a tile is some columns. A tile goes
 * through all phases while it is in the cache: machine code over blocks of elements, folds of the blocks, machine code over what was folded.
 */
#include "reduce.h"
#include "kernel_flags.h"

#include <string.h>

typedef struct {
    ReduceRun *run;
    const Phase *phase;
    int p;                                  /* which phase that is */
    npy_intp outer;                         /* the first row of the tile, or the slab of the columns */
    npy_intp row;                           /* the first row of a block */
    npy_intp begin;                         /* the element with which a row, or a part of it, begins */
    npy_intp column;
    char numbers[KERNEL_SCALARS * KERNEL_SCALAR_SIZE];
} Step;

static npy_intp size_at(const ReduceKernel *kernel, Place place)
{
    switch (place.space) {
    case IN_OPERAND: return kernel->operands[place.index].from.itemsize;
    case IN_BIG: return kernel->bigs[place.index].itemsize;
    default: return kernel->smalls[place.index].itemsize;
    }
}

/* n elements, and the first of them again and again: it raises no other flag. */
static void copy_padded(char *to, const char *from, npy_intp n, npy_intp width, npy_intp size)
{
#define PAD_AS(type) \
    do { \
        for (npy_intp i = 0; i < width; i++) { \
            ((type *)to)[i] = ((const type *)from)[i < n ? i : 0]; \
        } \
    } while (0)
    switch (size) {
    case 1: PAD_AS(npy_uint8); break;
    case 4: PAD_AS(npy_uint32); break;
    case 8: PAD_AS(npy_uint64); break;
    default:
        for (npy_intp i = 0; i < width; i++) {
            memcpy(to + i * size, from + (i < n ? i : 0) * size, (size_t)size);
        }
    }
#undef PAD_AS
}

static void copy_back(char *to, const char *from, npy_intp n, npy_intp size)
{
    if (n == 1 && size == 8) {
        *(npy_uint64 *)to = *(const npy_uint64 *)from;
        return;
    }
    memcpy(to, from, (size_t)(n * size));
}

/* Machine code over n elements that lie side by side everywhere. */
static void run_code(const ReduceRun *run, const Code *code, char *const *data, const char *numbers,
                     npy_intp n)
{
    const ReduceKernel *kernel = run->kernel;
    char *here[2 * KERNEL_OPERANDS];
    npy_intp sizes[2 * KERNEL_OPERANDS];
    int n_data = code->n_operands + code->n_results;
    if (n >= code->width && n <= code->block) {
        code->run(data, numbers, code->loops, n, run->scratch);
        return;
    }
    for (int i = 0; i < n_data; i++) {
        sizes[i] = size_at(kernel, i < code->n_operands ? code->operands[i]
                                                        : code->results[i - code->n_operands]);
    }
    if (n < code->width) {
        char *room = run->scratch + code->scratch;
        for (int i = 0; i < n_data; i++) {
            here[i] = room;
            room += code->width * sizes[i];
            if (i < code->n_operands) {
                copy_padded(here[i], data[i], n, code->width, sizes[i]);
            }
        }
        code->run(here, numbers, code->loops, code->width, run->scratch);
        for (int i = code->n_operands; i < n_data; i++) {
            copy_back(data[i], here[i], n, sizes[i]);
        }
        return;
    }
    for (npy_intp start = 0; start < n;) {
        npy_intp count = n - start < code->block ? n - start : code->block;
        if (count < code->width) {
            start = n - code->width;
            count = code->width;
        }
        for (int i = 0; i < n_data; i++) {
            here[i] = data[i] + start * sizes[i];
        }
        code->run(here, numbers, code->loops, count, run->scratch);
        start += count;
    }
}

/* Machine code over the folded values of a tile. */
static void run_small(Step *step, npy_intp n)
{
    const ReduceRun *run = step->run;
    const Code *code = &step->phase->small;
    char *data[2 * KERNEL_OPERANDS];
    if (code->run == NULL) {
        return;
    }
    for (int i = 0; i < code->n_operands; i++) {
        data[i] = run->smalls[code->operands[i].index];
    }
    for (int i = 0; i < code->n_results; i++) {
        data[code->n_operands + i] = run->smalls[code->results[i].index];
    }
    for (int i = 0; i < code->n_numbers; i++) {
        memcpy(step->numbers + i * KERNEL_SCALAR_SIZE,
               run->scalars + code->numbers[i].index * KERNEL_SCALAR_SIZE, KERNEL_SCALAR_SIZE);
    }
    run_code(run, code, data, step->numbers, n);
}

/* The numbers of the machine code that differ from row to row. */
static void set_row_numbers(Step *step, npy_intp row)
{
    const ReduceRun *run = step->run;
    const Code *code = &step->phase->big;
    for (int i = 0; i < code->n_numbers; i++) {
        Place place = code->numbers[i];
        char *to = step->numbers + i * KERNEL_SCALAR_SIZE;
        if (place.space == IN_NUMBER) {
            continue;
        }
        npy_intp size = run->kernel->smalls[place.index].itemsize;
        const char *from = run->smalls[place.index] + row * size;
        switch (size) {
        case 4: memcpy(to, from, 4); break;
        case 8: memcpy(to, from, 8); break;
        default: memcpy(to, from, (size_t)size);
        }
    }
}

static void set_numbers(Step *step, npy_intp row)
{
    const ReduceRun *run = step->run;
    const Code *code = &step->phase->big;
    for (int i = 0; i < code->n_numbers; i++) {
        if (code->numbers[i].space == IN_NUMBER) {
            memcpy(step->numbers + i * KERNEL_SCALAR_SIZE,
                   run->scalars + code->numbers[i].index * KERNEL_SCALAR_SIZE, KERNEL_SCALAR_SIZE);
        }
    }
    set_row_numbers(step, row);
}

/* ---- folds ----------------------------------------------------------------------------------- */

/* Before a loop of NumPy's that clears the flags. */
static void keep_flags(ReduceRun *run, const Fold *fold)
{
    if (fold->clears) {
        run->flags |= flags_raised();
    }
}

static void fold_with_loop(const Fold *fold, char *value, const char *from, npy_intp size, bool first,
                           npy_intp n)
{
    if (first && !fold->begins) {
        memcpy(value, from, (size_t)size);
        from += size;
        n--;
    }
    if (n > 0) {
        char *data[3] = {value, (char *)from, value};
        npy_intp steps[3] = {0, size, 0};
        fold->loop(data, &n, steps, fold->data);
    }
}

static bool is_unsure(int type, const char *value)
{
    switch (type) {
    case NPY_DOUBLE: return *(const double *)value == 0 || *(const double *)value != *(const double *)value;
    case NPY_FLOAT: return *(const float *)value == 0 || *(const float *)value != *(const float *)value;
    case NPY_HALF: return (*(const npy_uint16 *)value & 0x7fff) == 0 || (*(const npy_uint16 *)value & 0x7fff) > 0x7c00;
    default: return false;
    }
}

static void store_count(int type, char *to, npy_intp count)
{
    switch (type) {
    case NPY_DOUBLE: *(double *)to = (double)count; break;
    case NPY_FLOAT: *(float *)to = (float)count; break;
    default: *(npy_int64 *)to = (npy_int64)count;
    }
}

/* n elements of a row. Pairwise sums give that of these elements alone. */
static void fold_piece(ReduceRun *run, const Fold *fold, Partial *value, const char *from, bool first,
                       npy_intp n)
{
    switch (fold->kind) {
    case FOLD_FLOAT64: value->float64 = pairwise_float64((const double *)from, n); break;
    case FOLD_FLOAT32: value->float32 = pairwise_float32((const float *)from, n); break;
    case FOLD_COUNT: value->count = (first ? 0 : value->count) + count_true((const npy_bool *)from, n); break;
    default:
        if (first && fold->begins) {
            memcpy(value->bytes, fold->initial, KERNEL_SCALAR_SIZE);
        }
        keep_flags(run, fold);
        fold_with_loop(fold, value->bytes, from, fold->source_size, first, n);
    }
}

static void store_folded(ReduceRun *run, const Fold *fold, const Partial *value, char *to, bool at_once)
{
    const Small *small = &run->kernel->smalls[fold->small];
    switch (fold->kind) {
    case FOLD_FLOAT64: *(double *)to = 0.0 + value->float64; break;
    case FOLD_FLOAT32: *(float *)to = 0.0f + value->float32; break;
    case FOLD_COUNT: store_count(small->type, to, value->count); break;
    default:
        memcpy(to, value->bytes, (size_t)small->itemsize);
        if (fold->unsure && !at_once && is_unsure(small->type, to)) {
            run->unsure = true;
        }
    }
}

/* ---- the last axes --------------------------------------------------------------------------- */

/* Where element `start` of a row is in results: folded elements may have others between them. */
static npy_intp result_at(const ReduceRun *run, npy_intp outer, npy_intp start)
{
    if (!run->apart) {
        return outer * run->reduced + start;
    }
    int n = run->n_outer;
    return reduce_offset(run->dims, run->result_strides, NULL, n, outer) +
           reduce_offset(run->dims + n, run->result_strides + n, NULL, run->n_reduced, start);
}

/* Row `row` of a tile that begins at `outer`, from element `start` on. */
static char *big_at(const Step *step, int index, npy_intp row, npy_intp start)
{
    const ReduceRun *run = step->run;
    const Big *big = &run->kernel->bigs[index];
    npy_intp at = big->kind == BIG_BLOCK ? (row - step->row) * run->reduced
                : big->kind == BIG_TILE  ? row * run->reduced + start
                                         : result_at(run, step->outer + row, start);
    return run->bigs[index] + at * big->itemsize;
}

/* Where a row of an operand begins. */
static char *row_of(const ReduceRun *run, const ReduceArray *array, npy_intp outer)
{
    return array->data + (array->outer_merges
                              ? outer * array->outer
                              : reduce_offset(run->dims, array->strides, array->firsts, run->n_outer, outer));
}

/* Copies n elements of some axes of an operand, the last of which goes fastest, from one on. */
static void gather(const ReduceRun *run, const ReduceArray *array, int first, int n_axes, const char *from,
                   npy_intp start, npy_intp n, char *to)
{
    const npy_intp *dims = run->dims + first, *strides = array->strides + first, *firsts = array->firsts + first;
    npy_intp at[REDUCE_DIMS], size = array->itemsize;
    int last = n_axes - 1;
    for (int axis = last; axis >= 0; axis--) {
        at[axis] = start % dims[axis];
        start /= dims[axis];
    }
    const char *row = from;
    for (int axis = 0; axis < last && !array->is_rolled; axis++) {
        row += at[axis] * strides[axis];
    }
    while (n > 0) {
        npy_intp here = at[last], count = dims[last] - here;
        if (array->is_rolled) {
            row = from;
            for (int axis = 0; axis < last; axis++) {
                npy_intp place = at[axis] + firsts[axis];
                row += (place < dims[axis] ? place : place - dims[axis]) * strides[axis];
            }
            here += firsts[last];
            here -= here < dims[last] ? 0 : dims[last];
            count = dims[last] - (at[last] > here ? at[last] : here);
        }
        count = count < n ? count : n;
        copy_strided(to, row + here * strides[last], strides[last], count, size);
        to += count * size;
        n -= count;
        at[last] += count;
        for (int axis = last; axis > 0 && at[axis] == dims[axis]; axis--) {
            row += strides[axis - 1] - (axis < last ? at[axis] * strides[axis] : 0);
            at[axis] = 0;
            at[axis - 1]++;
        }
    }
}

/* Elements of a row that begins at `from`, side by side. */
static char *row_block(const ReduceRun *run, ReduceArray *array, char *from, npy_intp start, npy_intp n)
{
    if (!array->step_merges) {
        gather(run, array, run->n_outer, run->n_reduced, from, start, n, array->buffer);
        return array->buffer;
    }
    from += start * array->step;
    if (array->step == array->itemsize) {
        return from;
    }
    if (array->step == 0 && array->filled_from == from && array->filled >= n) {
        return array->buffer;
    }
    copy_strided(array->buffer, from, array->step, n, array->itemsize);
    array->filled_from = array->step == 0 ? from : NULL;
    array->filled = n;
    return array->buffer;
}

static void produce_row(Step *step, npy_intp row, npy_intp start, npy_intp n)
{
    ReduceRun *run = step->run;
    const Code *code = &step->phase->big;
    char *data[2 * KERNEL_OPERANDS];
    for (int i = 0; i < code->n_operands; i++) {
        Place place = code->operands[i];
        if (place.space == IN_BIG) {
            data[i] = big_at(step, place.index, row, start);
            continue;
        }
        ReduceArray *array = &run->operands[place.index];
        data[i] = row_block(run, array, row_of(run, array, step->outer + row), start, n);
    }
    for (int i = 0; i < code->n_results; i++) {
        data[code->n_operands + i] = big_at(step, code->results[i].index, row, start);
    }
    run_code(run, code, data, step->numbers, n);
}

/* Short rows of a block, of operands that do not lie side by side: in copies. */
static void produce_copied(Step *step, npy_intp row, npy_intp n_rows)
{
    ReduceRun *run = step->run;
    const Code *code = &step->phase->big;
    npy_intp length = run->reduced;
    char *data[2 * KERNEL_OPERANDS];
    for (int i = 0; i < code->n_operands; i++) {
        Place place = code->operands[i];
        if (place.space == IN_BIG) {
            data[i] = big_at(step, place.index, row, 0);
            continue;
        }
        ReduceArray *array = &run->operands[place.index];
        gather(run, array, 0, run->n_outer + run->n_reduced, array->data, (step->outer + row) * length,
               n_rows * length, array->buffer);
        array->filled_from = NULL;
        data[i] = array->buffer;
    }
    for (int i = 0; i < code->n_results; i++) {
        data[code->n_operands + i] = big_at(step, code->results[i].index, row, 0);
    }
    run_code(run, code, data, step->numbers, n_rows * length);
}

/* Whole rows of a block, one by one. */
static void produce_rows(Step *step, npy_intp row, npy_intp n_rows)
{
    ReduceRun *run = step->run;
    const Code *code = &step->phase->big;
    npy_intp length = run->reduced, strides[2 * KERNEL_OPERANDS];
    char *data[2 * KERNEL_OPERANDS];
    int n_data = code->n_operands + code->n_results;
    bool in_place = length >= code->width && length <= code->block && n_rows > 1;
    for (int i = 0; i < n_data && in_place; i++) {
        Place place = i < code->n_operands ? code->operands[i] : code->results[i - code->n_operands];
        if (place.space == IN_BIG) {
            data[i] = big_at(step, place.index, row, 0);
            strides[i] = length * run->kernel->bigs[place.index].itemsize;
            continue;
        }
        const ReduceArray *array = &run->operands[place.index];
        in_place = array->outer_merges && array->step_merges && array->step == array->itemsize;
        data[i] = row_of(run, array, step->outer + row);
        strides[i] = array->outer;
    }
    if (run->copies && !code->by_rows && n_rows > 1 && (!in_place || length < SHORT_ROW / 2)) {
        produce_copied(step, row, n_rows);
        return;
    }
    for (npy_intp k = 0; k < n_rows; k++) {
        if (code->by_rows) {
            set_row_numbers(step, row + k);
        }
        if (!in_place) {
            produce_row(step, row + k, 0, length);
            continue;
        }
        code->run(data, step->numbers, code->loops, length, run->scratch);
        for (int i = 0; i < n_data; i++) {
            data[i] += strides[i];
        }
    }
}

/* What is folded of a row from element `start` on: all of it where it lies side by side, else the next n elements. */
static const char *folded_at(const Step *step, const Fold *fold, npy_intp row, npy_intp start, npy_intp n)
{
    ReduceRun *run = step->run;
    if (fold->source.space == IN_BIG) {
        return big_at(step, fold->source.index, row, start);
    }
    ReduceArray *array = &run->operands[fold->source.index];
    char *from = row_of(run, array, step->outer + row);
    return run->gathers[step->p] ? row_block(run, array, from, start, n)
                                 : from + start * array->itemsize;
}

static bool is_by_pieces(const Fold *fold)
{
    return fold->kind != FOLD_WHOLE && fold->kind != FOLD_POSITION;
}

/* Sums of a piece of a row are of its elements alone: adds what was before. */
static void add_piece(const Fold *fold, Partial *value, const Partial *before)
{
    if (fold->kind == FOLD_FLOAT64) {
        value->float64 = before->float64 + value->float64;
    }
    else if (fold->kind == FOLD_FLOAT32) {
        value->float32 = before->float32 + value->float32;
    }
}

/* A row of more than a block: by the tree of pairwise sums, from left to right. */
static void fold_long(Step *step, npy_intp row, npy_intp start, npy_intp n, Partial *values)
{
    const Phase *phase = step->phase;
    if (n > REDUCE_BLOCK && !phase->tree) {
        for (; n > 0; start += REDUCE_BLOCK, n -= REDUCE_BLOCK) {
            fold_long(step, row, start, n < REDUCE_BLOCK ? n : REDUCE_BLOCK, values);
        }
        return;
    }
    if (n > REDUCE_BLOCK) {
        Partial left[REDUCE_FOLDS];
        npy_intp half = n / 2;
        half -= half % 8;
        fold_long(step, row, start, half, values);
        memcpy(left, values, sizeof(left));
        fold_long(step, row, start + half, n - half, values);
        for (int i = 0; i < phase->n_folds; i++) {
            add_piece(&phase->folds[i], &values[i], &left[i]);
        }
        return;
    }
    if (phase->big.run != NULL) {
        produce_row(step, row, start, n);
    }
    for (int i = 0; i < phase->n_folds; i++) {
        const Fold *fold = &phase->folds[i];
        if (is_by_pieces(fold)) {
            fold_piece(step->run, fold, &values[i], folded_at(step, fold, row, start, n),
                       start == step->begin, n);
        }
    }
}

npy_intp reduce_next_piece(const ReduceRun *run, int p, npy_intp start)
{
    npy_intp rest = run->segment - start % run->segment, pieces = run->pieces[p];
    npy_intp left = pieces - start % run->segment % pieces;
    return rest < left ? rest : left;
}

/* A whole row; `code` gives its elements, or they are in memory. */
static void fold_row(Step *step, npy_intp row, Partial *values)
{
    const Phase *phase = step->phase;
    npy_intp n;
    bool by_blocks = phase->big.run != NULL || step->run->gathers[step->p];
    for (npy_intp start = 0; start < step->run->reduced; start += n) {
        Partial before[REDUCE_FOLDS];
        n = reduce_next_piece(step->run, step->p, start);
        memcpy(before, values, sizeof(before));
        if (by_blocks) {
            fold_long(step, row, start, n, values);
        }
        for (int i = 0; i < phase->n_folds; i++) {
            const Fold *fold = &phase->folds[i];
            if (!is_by_pieces(fold)) {
                continue;
            }
            if (!by_blocks) {
                fold_piece(step->run, fold, &values[i], folded_at(step, fold, row, start, n),
                       start == step->begin, n);
            }
            if (start > 0) {
                add_piece(fold, &values[i], &before[i]);
            }
        }
    }
}

static void fold_whole(Step *step, const Fold *fold, npy_intp row)
{
    ReduceRun *run = step->run;
    char *to = run->smalls[fold->small] + row * run->kernel->smalls[fold->small].itemsize;
    const char *from = folded_at(step, fold, row, 0, 0);
    if (fold->kind == FOLD_POSITION) {
        npy_intp found = 0;
        run->flags |= flags_raised();
        fold->position((void *)from, run->reduced, &found, NULL);
        *(npy_intp *)to = found;
        return;
    }
    Partial value;
    npy_intp n;
    memcpy(value.bytes, fold->initial, KERNEL_SCALAR_SIZE);
    keep_flags(run, fold);
    for (npy_intp start = 0; start < run->reduced; start += n) {
        n = reduce_next_piece(step->run, step->p, start);
        fold_with_loop(fold, value.bytes, from + start * fold->source_size, fold->source_size,
                       start == 0, n);
    }
    store_folded(run, fold, &value, to, true);
}

static bool is_flat(const ReduceRun *run, const Code *code)
{
    for (int i = 0; i < code->n_operands; i++) {
        if (code->operands[i].space == IN_OPERAND) {
            const ReduceArray *array = &run->operands[code->operands[i].index];
            if (!array->step_merges || !array->outer_merges || array->step != array->itemsize ||
                array->outer != run->reduced * array->itemsize) {
                return false;
            }
        }
    }
    return !code->by_rows;
}

/* Rows of a block, each at once. */
static void fold_rows(Step *step, const Fold *fold, npy_intp row, npy_intp n_rows)
{
    ReduceRun *run = step->run;
    npy_intp length = run->reduced, size = run->kernel->smalls[fold->small].itemsize;
    npy_intp stride = length * fold->source_size;
    const char *from = folded_at(step, fold, row, 0, length);
    char *to = run->smalls[fold->small] + row * size;
    if (fold->source.space == IN_OPERAND) {
        const ReduceArray *array = &run->operands[fold->source.index];
        if (!array->outer_merges && n_rows > 1) {
            for (npy_intp k = 0; k < n_rows; k++) {
                fold_rows(step, fold, row + k, 1);
            }
            return;
        }
        stride = array->outer;
    }
    if (fold->kind == FOLD_FLOAT64 && n_rows > 1 && stride % (npy_intp)sizeof(double) == 0) {
        double *sums = (double *)to;
        pairwise_rows_float64((const double *)from, stride / (npy_intp)sizeof(double), n_rows, length, sums);
        for (npy_intp k = 0; k < n_rows; k++) {
            sums[k] = 0.0 + sums[k];
        }
        return;
    }
    if (fold->kind == FOLD_FLOAT32 && n_rows > 1 && stride % (npy_intp)sizeof(float) == 0) {
        float *sums = (float *)to;
        pairwise_rows_float32((const float *)from, stride / (npy_intp)sizeof(float), n_rows, length, sums);
        for (npy_intp k = 0; k < n_rows; k++) {
            sums[k] = 0.0f + sums[k];
        }
        return;
    }
    keep_flags(run, fold);                  /* once: to read those of both units takes as long as a short row */
    for (npy_intp k = 0; k < n_rows; k++, to += size, from += stride) {
        Partial value;
        if (fold->kind == FOLD_LOOP) {
            memcpy(value.bytes, fold->initial, KERNEL_SCALAR_SIZE);
            fold_with_loop(fold, value.bytes, from, fold->source_size, true, length);
        }
        else {
            fold_piece(run, fold, &value, from, true, length);
        }
        store_folded(run, fold, &value, to, true);
    }
}

static void rows_of_phase(Step *step, npy_intp n_rows)
{
    ReduceRun *run = step->run;
    const Phase *phase = step->phase;
    const Code *code = &phase->big;
    npy_intp length = run->reduced, together;
    bool flat = false, at_once = !run->apart && !run->gathers[step->p];
    if (code->run == NULL) {
        at_once = at_once && length <= run->pieces[step->p];
        together = at_once ? n_rows : 1;
    }
    else {
        set_numbers(step, 0);
        at_once = at_once && length <= REDUCE_BLOCK;
        flat = is_flat(run, code);
        together = at_once ? REDUCE_BLOCK / length : 1;
    }
    for (npy_intp row = 0; row < n_rows; row += together) {
        npy_intp here = n_rows - row < together ? n_rows - row : together;
        step->row = row;
        if (!at_once) {
            Partial values[REDUCE_FOLDS] = {{0}};
            step->begin = 0;
            if (code->by_rows) {
                set_numbers(step, row);
            }
            fold_row(step, row, values);
            for (int i = 0; i < phase->n_folds; i++) {
                const Fold *fold = &phase->folds[i];
                if (is_by_pieces(fold)) {
                    npy_intp size = run->kernel->smalls[fold->small].itemsize;
                    store_folded(run, fold, &values[i], run->smalls[fold->small] + row * size, false);
                }
            }
        }
        else if (flat) {
            produce_row(step, row, 0, here * length);
        }
        else if (code->run != NULL) {
            produce_rows(step, row, here);
        }
        for (int i = 0; i < phase->n_folds; i++) {
            if (!is_by_pieces(&phase->folds[i])) {
                for (npy_intp k = 0; k < here; k++) {
                    fold_whole(step, &phase->folds[i], row + k);
                }
            }
            else if (at_once) {
                fold_rows(step, &phase->folds[i], row, here);
            }
        }
    }
}

/* Has values that are folded lie where those of a row do. */
static void set_smalls(ReduceRun *run, npy_intp outer)
{
    for (int i = 0; i < run->kernel->n_smalls; i++) {
        if (run->small_results[i] != NULL) {
            run->smalls[i] = run->small_results[i] + outer * run->kernel->smalls[i].itemsize;
        }
    }
}

static void run_last(ReduceRun *run, npy_intp first, npy_intp last)
{
    const ReduceKernel *kernel = run->kernel;
    Step step;
    step.run = run;
    step.column = 0;
    for (npy_intp tile = first; tile < last; tile++) {
        step.outer = tile * run->tile;
        npy_intp rest = run->outer - step.outer, rows = rest < run->tile ? rest : run->tile;
        set_smalls(run, step.outer);
        for (step.p = 0; step.p < kernel->n_phases; step.p++) {
            step.phase = &kernel->phases[step.p];
            rows_of_phase(&step, rows);
            run_small(&step, rows);
        }
    }
}

/* ---- long rows, in parts --------------------------------------------------------------------- */

void reduce_begin_row(ReduceRun *run, npy_intp row)
{
    set_smalls(run, row);
}

void reduce_part(ReduceRun *run, int p, npy_intp row, npy_intp start, npy_intp n, Partial *values)
{
    Step step = {.run = run, .phase = &run->kernel->phases[p], .p = p, .outer = row, .begin = start};
    if (step.phase->big.run != NULL) {
        set_numbers(&step, 0);
    }
    if (step.phase->big.run != NULL || run->gathers[p]) {
        fold_long(&step, 0, start, n, values);
        return;
    }
    for (int i = 0; i < step.phase->n_folds; i++) {
        const Fold *fold = &step.phase->folds[i];
        fold_piece(run, fold, &values[i], folded_at(&step, fold, 0, start, n), true, n);
    }
}

void reduce_join(ReduceRun *run, int p, Partial *values, const Partial *behind)
{
    for (int i = 0; i < run->kernel->phases[p].n_folds; i++) {
        const Fold *fold = &run->kernel->phases[p].folds[i];
        switch (fold->kind) {
        case FOLD_FLOAT64: values[i].float64 = values[i].float64 + behind[i].float64; break;
        case FOLD_FLOAT32: values[i].float32 = values[i].float32 + behind[i].float32; break;
        case FOLD_COUNT: values[i].count += behind[i].count; break;
        default:
            keep_flags(run, fold);
            fold_with_loop(fold, values[i].bytes, behind[i].bytes,
                           run->kernel->smalls[fold->small].itemsize, false, 1);
        }
    }
}

void reduce_end_phase(ReduceRun *run, int p, npy_intp row, const Partial *values)
{
    Step step = {.run = run, .phase = &run->kernel->phases[p], .p = p, .outer = row};
    for (int i = 0; i < step.phase->n_folds; i++) {
        const Fold *fold = &step.phase->folds[i];
        store_folded(run, fold, &values[i], run->smalls[fold->small], false);
    }
    run_small(&step, 1);
}

/* ---- other axes ------------------------------------------------------------------------------ */

static char *big_column(const Step *step, int index, npy_intp row, npy_intp width)
{
    const ReduceRun *run = step->run;
    const Big *big = &run->kernel->bigs[index];
    npy_intp at = big->kind == BIG_BLOCK ? 0
                : big->kind == BIG_TILE  ? row * width
                : run->apart             ? result_at(run, step->outer, row) + step->column
                                         : (step->outer * run->reduced + row) * run->inner + step->column;
    return run->bigs[index] + at * big->itemsize;
}

/* Where a row of the slab begins. */
static char *slab_row(const Step *step, const ReduceArray *array, npy_intp row)
{
    const ReduceRun *run = step->run;
    int n = run->n_outer;
    return row_of(run, array, step->outer) +
           (array->step_merges ? row * array->step
                               : reduce_offset(run->dims + n, array->strides + n, array->firsts + n,
                                               run->n_reduced, row));
}

/* Whether rows [row, row + n_rows) of the columns of a tile lie side by side. */
static bool is_block(const ReduceArray *array, npy_intp n_rows, npy_intp width)
{
    return array->inner_merges && array->inner == array->itemsize &&
           (n_rows == 1 || (array->step_merges && array->step == width * array->itemsize));
}

/* Rows [row, row + n_rows) of the columns of a tile, side by side. */
static char *column_block(const Step *step, ReduceArray *array, npy_intp row, npy_intp n_rows,
                          npy_intp width)
{
    const ReduceRun *run = step->run;
    int inner = run->n_outer + run->n_reduced;
    char *from = slab_row(step, array, row);
    bool repeats = array->step_merges && array->step == 0;
    if (is_block(array, n_rows, width)) {
        return from + step->column * array->itemsize;
    }
    if (repeats && array->filled_from == from && array->filled >= n_rows) {
        return array->buffer;
    }
    for (npy_intp k = 0; k < n_rows; k++) {
        char *to = array->buffer + k * width * array->itemsize;
        from = k == 0 ? from : array->step_merges ? from + array->step : slab_row(step, array, row + k);
        if (array->inner_merges) {
            copy_strided(to, from + step->column * array->inner, array->inner, width, array->itemsize);
        }
        else {
            gather(run, array, inner, run->n_inner, from, step->column, width, to);
        }
    }
    array->filled_from = repeats ? from : NULL;
    array->filled = n_rows;
    return array->buffer;
}

static void produce_columns(Step *step, npy_intp row, npy_intp n_rows, npy_intp width)
{
    ReduceRun *run = step->run;
    const Code *code = &step->phase->big;
    char *data[2 * KERNEL_OPERANDS];
    for (int i = 0; i < code->n_operands; i++) {
        Place place = code->operands[i];
        if (place.space == IN_BIG) {
            data[i] = big_column(step, place.index, row, width);
        }
        else if (place.space == IN_OPERAND) {
            data[i] = column_block(step, &run->operands[place.index], row, n_rows, width);
        }
        else {
            ReduceArray *array = &run->spread[place.index];
            if (n_rows == 1) {
                data[i] = run->smalls[place.index];
                continue;
            }
            for (; array->filled < n_rows; array->filled++) {
                memcpy(array->buffer + array->filled * width * array->itemsize,
                       run->smalls[place.index], (size_t)(width * array->itemsize));
            }
            data[i] = array->buffer;
        }
    }
    for (int i = 0; i < code->n_results; i++) {
        data[code->n_operands + i] = big_column(step, code->results[i].index, row, width);
    }
    run_code(run, code, data, step->numbers, n_rows * width);
}

static void fold_columns(ReduceRun *run, const Fold *fold, const char *from, npy_intp stride, bool first,
                         npy_intp n_rows, npy_intp width)
{
    const Small *small = &run->kernel->smalls[fold->small];
    npy_intp size = fold->source_size;
    char *sums = run->smalls[fold->small];
    npy_intp row = 0;
    if (first && fold->begins) {
        for (npy_intp i = 0; i < width; i++) {
            memcpy(sums + i * small->itemsize, fold->initial, (size_t)small->itemsize);
        }
    }
    else if (first) {
        memcpy(sums, from, (size_t)(width * size));
        row = 1;
    }
    bool dense = stride == width * size;
    switch (dense ? fold->kind : FOLD_LOOP) {
    case FOLD_FLOAT64:
        add_rows_float64((double *)sums, (const double *)from, n_rows, width);
        return;
    case FOLD_FLOAT32:
        add_rows_float32((float *)sums, (const float *)from, n_rows, width);
        return;
    default: break;
    }
    if (fold->kind == FOLD_COUNT) {
        for (; row < n_rows; row++) {
            const npy_bool *values = (const npy_bool *)(from + row * stride);
            for (npy_intp i = 0; i < width; i++) {
                if (small->type == NPY_DOUBLE) {
                    ((double *)sums)[i] += values[i];
                }
                else {
                    ((npy_int64 *)sums)[i] += values[i];
                }
            }
        }
        return;
    }
    keep_flags(run, fold);
    for (; row < n_rows; row++) {
        char *data[3] = {sums, (char *)from + row * stride, sums};
        npy_intp steps[3] = {size, size, size};
        npy_intp n = width;
        fold->loop(data, &n, steps, fold->data);
    }
}

static void columns_of_phase(Step *step, npy_intp width)
{
    ReduceRun *run = step->run;
    const ReduceKernel *kernel = run->kernel;
    const Phase *phase = step->phase;
    const Code *code = &phase->big;
    npy_intp together = width == run->inner && width < REDUCE_BLOCK && !run->apart ? REDUCE_BLOCK / width : 1;
    bool in_place = true;                   /* what is folded of operands lies in rows */
    for (int i = 0; i < phase->n_folds; i++) {
        if (phase->folds[i].source.space == IN_OPERAND) {
            const ReduceArray *array = &run->operands[phase->folds[i].source.index];
            in_place = in_place && array->step_merges && array->inner_merges && array->inner == array->itemsize;
        }
    }
    if (code->run != NULL) {
        set_numbers(step, 0);
        for (int i = 0; i < kernel->n_smalls; i++) {
            run->spread[i].filled = 0;
        }
    }
    else if (in_place) {
        together = run->reduced;
    }
    else {
        together = REDUCE_BLOCK / width;
    }
    for (npy_intp row = 0; row < run->reduced; row += together) {
        npy_intp here = run->reduced - row < together ? run->reduced - row : together;
        if (code->run != NULL) {
            produce_columns(step, row, here, width);
        }
        for (int i = 0; i < phase->n_folds; i++) {
            const Fold *fold = &phase->folds[i];
            const char *from;
            npy_intp stride = width * fold->source_size;
            if (fold->source.space == IN_BIG) {
                from = big_column(step, fold->source.index, row, width);
            }
            else {
                ReduceArray *array = &run->operands[fold->source.index];
                if (in_place) {
                    from = slab_row(step, array, row) + step->column * array->itemsize;
                    stride = array->step;
                }
                else {
                    from = column_block(step, array, row, here, width);
                }
            }
            fold_columns(run, fold, from, stride, row == 0, here, width);
        }
    }
    for (int i = 0; i < phase->n_folds; i++) {
        const Fold *fold = &phase->folds[i];
        const Small *small = &kernel->smalls[fold->small];
        for (npy_intp k = 0; fold->unsure && k < width; k++) {
            run->unsure = run->unsure ||
                          is_unsure(small->type, run->smalls[fold->small] + k * small->itemsize);
        }
    }
}

static npy_intp tiles_of_slab(const ReduceRun *run)
{
    return (run->inner + run->tile - 1) / run->tile;
}

static void run_columns(ReduceRun *run, npy_intp first, npy_intp last)
{
    const ReduceKernel *kernel = run->kernel;
    npy_intp of_slab = tiles_of_slab(run);
    Step step;
    step.run = run;
    for (npy_intp tile = first; tile < last; tile++) {
        step.outer = tile / of_slab;
        step.column = tile % of_slab * run->tile;
        npy_intp rest = run->inner - step.column, width = rest < run->tile ? rest : run->tile;
        set_smalls(run, step.outer * run->inner + step.column);
        for (int i = 0; i < kernel->n_operands; i++) {
            run->operands[i].filled = 0;
        }
        for (step.p = 0; step.p < kernel->n_phases; step.p++) {
            step.phase = &kernel->phases[step.p];
            columns_of_phase(&step, width);
            run_small(&step, width);
        }
    }
}

npy_intp reduce_tiles(const ReduceRun *run)
{
    return run->inner == 1 ? (run->outer + run->tile - 1) / run->tile : run->outer * tiles_of_slab(run);
}

void reduce_run(ReduceRun *run, npy_intp first, npy_intp last)
{
    if (run->kernel->loops) {
        flags_clear();
    }
    else {
        vector_flags_clear();
    }
    if (run->inner == 1) {
        run_last(run, first, last);
    }
    else {
        run_columns(run, first, last);
    }
    run->flags |= run->kernel->loops ? flags_raised() : vector_flags_raised();
}
