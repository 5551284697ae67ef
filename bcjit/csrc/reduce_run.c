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
    npy_intp outer;                         /* the first row of the tile, or the slab of the columns */
    npy_intp row;                           /* the first row of a block */
    npy_intp column;
    char numbers[KERNEL_SCALARS * KERNEL_SCALAR_SIZE];
} Step;

static npy_intp size_at(const ReduceKernel *kernel, Place place)
{
    switch (place.space) {
    case IN_OPERAND: return kernel->operands[place.index].itemsize;
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

static void set_numbers(Step *step, npy_intp row)
{
    const ReduceRun *run = step->run;
    const Code *code = &step->phase->big;
    for (int i = 0; i < code->n_numbers; i++) {
        Place place = code->numbers[i];
        char *to = step->numbers + i * KERNEL_SCALAR_SIZE;
        if (place.space == IN_NUMBER) {
            memcpy(to, run->scalars + place.index * KERNEL_SCALAR_SIZE, KERNEL_SCALAR_SIZE);
        }
        else {
            npy_intp size = run->kernel->smalls[place.index].itemsize;
            memcpy(to, run->smalls[place.index] + row * size, (size_t)size);
        }
    }
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

/* What is known of a row so far, for each fold. */
typedef union {
    double float64;
    float float32;
    npy_intp count;
    char bytes[KERNEL_SCALAR_SIZE];
} Partial;

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

/* Row `row` of a tile that begins at `outer`, from element `start` on. */
static char *big_at(const Step *step, int index, npy_intp row, npy_intp start)
{
    const ReduceRun *run = step->run;
    const Big *big = &run->kernel->bigs[index];
    npy_intp at = big->kind == BIG_BLOCK ? (row - step->row) * run->reduced
                : big->kind == BIG_TILE  ? row * run->reduced + start
                                         : (step->outer + row) * run->reduced + start;
    return run->bigs[index] + at * big->itemsize;
}

static void fill_buffer(ReduceArray *array, const char *from, npy_intp stride, npy_intp n)
{
    if (stride == 0 && array->filled_from == from && array->filled >= n) {
        return;
    }
    copy_strided(array->buffer, from, stride, n, array->itemsize);
    array->filled_from = stride == 0 ? from : NULL;
    array->filled = n;
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
        data[i] = array->data + (step->outer + row) * array->outer + start * array->step;
        if (array->step != array->itemsize) {
            fill_buffer(array, data[i], array->step, n);
            data[i] = array->buffer;
        }
    }
    for (int i = 0; i < code->n_results; i++) {
        data[code->n_operands + i] = big_at(step, code->results[i].index, row, start);
    }
    run_code(run, code, data, step->numbers, n);
}

static const char *folded_at(const Step *step, const Fold *fold, npy_intp row, npy_intp start)
{
    if (fold->source.space == IN_BIG) {
        return big_at(step, fold->source.index, row, start);
    }
    const ReduceArray *array = &step->run->operands[fold->source.index];
    return array->data + (step->outer + row) * array->outer + start * array->itemsize;
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
    produce_row(step, row, start, n);
    for (int i = 0; i < phase->n_folds; i++) {
        if (is_by_pieces(&phase->folds[i])) {
            fold_piece(step->run, &phase->folds[i], &values[i], folded_at(step, &phase->folds[i], row, start),
                       start == 0, n);
        }
    }
}

/* A whole row; `code` gives its elements, or they are in memory. */
static void fold_row(Step *step, npy_intp row, Partial *values)
{
    const Phase *phase = step->phase;
    npy_intp length = step->run->reduced, pieces = step->run->kernel->pieces;
    for (npy_intp start = 0; start < length; start += pieces) {
        npy_intp n = length - start < pieces ? length - start : pieces;
        Partial before[REDUCE_FOLDS];
        memcpy(before, values, sizeof(before));
        if (phase->big.run != NULL) {
            fold_long(step, row, start, n, values);
        }
        for (int i = 0; i < phase->n_folds; i++) {
            const Fold *fold = &phase->folds[i];
            if (!is_by_pieces(fold)) {
                continue;
            }
            if (phase->big.run == NULL) {
                fold_piece(step->run, fold, &values[i], folded_at(step, fold, row, start), start == 0, n);
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
    const char *from = folded_at(step, fold, row, 0);
    if (fold->kind == FOLD_POSITION) {
        npy_intp found = 0;
        run->flags |= flags_raised();
        fold->position((void *)from, run->reduced, &found, NULL);
        *(npy_intp *)to = found;
        return;
    }
    Partial value;
    npy_intp pieces = run->kernel->pieces;
    memcpy(value.bytes, fold->initial, KERNEL_SCALAR_SIZE);
    keep_flags(run, fold);
    for (npy_intp start = 0; start < run->reduced; start += pieces) {
        npy_intp n = run->reduced - start < pieces ? run->reduced - start : pieces;
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
            if (array->step != array->itemsize || array->outer != run->reduced * array->itemsize) {
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
    const char *from = folded_at(step, fold, row, 0);
    char *to = run->smalls[fold->small] + row * size;
    if (fold->source.space == IN_OPERAND) {
        stride = run->operands[fold->source.index].outer;
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
    for (npy_intp k = 0; k < n_rows; k++, to += size, from += stride) {
        Partial value;
        fold_piece(run, fold, &value, from, true, length);
        store_folded(run, fold, &value, to, true);
    }
}

static void rows_of_phase(Step *step, npy_intp n_rows)
{
    ReduceRun *run = step->run;
    const Phase *phase = step->phase;
    const Code *code = &phase->big;
    npy_intp length = run->reduced, together;
    bool flat = false, at_once = length <= REDUCE_BLOCK;
    if (code->run == NULL) {
        at_once = length <= run->kernel->pieces;
        together = at_once ? n_rows : 1;
    }
    else {
        set_numbers(step, 0);
        flat = is_flat(run, code);
        together = at_once ? REDUCE_BLOCK / length : 1;
    }
    for (npy_intp row = 0; row < n_rows; row += together) {
        npy_intp here = n_rows - row < together ? n_rows - row : together;
        step->row = row;
        if (!at_once) {
            Partial values[REDUCE_FOLDS] = {{0}};
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
        else {
            for (npy_intp k = 0; code->run != NULL && k < here; k++) {
                if (code->by_rows) {
                    set_numbers(step, row + k);
                }
                produce_row(step, row + k, 0, length);
            }
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

static void run_last(ReduceRun *run)
{
    const ReduceKernel *kernel = run->kernel;
    Step step;
    step.run = run;
    step.column = 0;
    for (npy_intp outer = 0; outer < run->outer; outer += run->tile) {
        npy_intp rows = run->outer - outer < run->tile ? run->outer - outer : run->tile;
        step.outer = outer;
        for (int i = 0; i < kernel->n_smalls; i++) {
            if (run->small_results[i] != NULL) {
                run->smalls[i] = run->small_results[i] + outer * kernel->smalls[i].itemsize;
            }
        }
        for (int p = 0; p < kernel->n_phases; p++) {
            step.phase = &kernel->phases[p];
            rows_of_phase(&step, rows);
            run_small(&step, rows);
        }
    }
}

/* ---- other axes ------------------------------------------------------------------------------ */

static char *big_column(const Step *step, int index, npy_intp row, npy_intp width)
{
    const ReduceRun *run = step->run;
    const Big *big = &run->kernel->bigs[index];
    npy_intp at = big->kind == BIG_BLOCK ? 0
                : big->kind == BIG_TILE  ? row * width
                                         : (step->outer * run->reduced + row) * run->inner + step->column;
    return run->bigs[index] + at * big->itemsize;
}

/* Rows [row, row + n_rows) of the columns of a tile, side by side. */
static char *column_block(const Step *step, ReduceArray *array, npy_intp row, npy_intp n_rows,
                          npy_intp width)
{
    char *from = array->data + step->outer * array->outer + row * array->step +
                 step->column * array->inner;
    if (array->inner == array->itemsize && (n_rows == 1 || array->step == width * array->itemsize)) {
        return from;
    }
    if (array->step == 0 && array->filled_from == from && array->filled >= n_rows) {
        return array->buffer;
    }
    for (npy_intp k = 0; k < n_rows; k++) {
        copy_strided(array->buffer + k * width * array->itemsize, from + k * array->step,
                     array->inner, width, array->itemsize);
    }
    array->filled_from = array->step == 0 ? from : NULL;
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
    npy_intp together = width == run->inner && width < REDUCE_BLOCK ? REDUCE_BLOCK / width : 1;
    if (code->run == NULL) {
        together = run->reduced;
    }
    else {
        set_numbers(step, 0);
        for (int i = 0; i < kernel->n_smalls; i++) {
            run->spread[i].filled = 0;
        }
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
                const ReduceArray *array = &run->operands[fold->source.index];
                from = array->data + step->outer * array->outer + row * array->step +
                       step->column * array->itemsize;
                stride = array->step;
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

static void run_columns(ReduceRun *run)
{
    const ReduceKernel *kernel = run->kernel;
    Step step;
    step.run = run;
    for (step.outer = 0; step.outer < run->outer; step.outer++) {
        for (step.column = 0; step.column < run->inner; step.column += run->tile) {
            npy_intp width = run->inner - step.column < run->tile ? run->inner - step.column : run->tile;
            for (int i = 0; i < kernel->n_smalls; i++) {
                if (run->small_results[i] != NULL) {
                    run->smalls[i] = run->small_results[i] +
                                     (step.outer * run->inner + step.column) * kernel->smalls[i].itemsize;
                }
            }
            for (int i = 0; i < kernel->n_operands; i++) {
                run->operands[i].filled = 0;
            }
            for (int p = 0; p < kernel->n_phases; p++) {
                step.phase = &kernel->phases[p];
                columns_of_phase(&step, width);
                run_small(&step, width);
            }
        }
    }
}

void reduce_run(ReduceRun *run)
{
    if (run->kernel->loops) {
        flags_clear();
    }
    else {
        vector_flags_clear();
    }
    if (run->inner == 1) {
        run_last(run);
    }
    else {
        run_columns(run);
    }
    run->flags |= run->kernel->loops ? flags_raised() : vector_flags_raised();
}
