/* scan_run.c - computes a run of a ScanKernel, block by block; it knows no Python object but the memory of arrays.
 *
 * A running fold needs only what came before, so a block goes through all phases at once: machine code over its elements, folds that go on
 * where the block before ended, machine code over what these give. Where folds run along the last axis, a block is some rows or a
 * part of one; elsewhere its columns are independent, and its rows are added one to the other.
 */
#include "scan.h"
#include "kernel_flags.h"

#include <string.h>

/* Fewer columns than these are folded one by one. */
#define FEW_COLUMNS 4

typedef struct {
    npy_intp outer, place, inner;           /* where it begins */
    npy_intp n_rows, n;                     /* rows, and elements of each */
    unsigned int gathered;                  /* operands whose elements lie side by side in their buffers */
} Block;

static bool by_columns(const ScanRun *run)
{
    return run->inner > 1;
}

/* ---- where elements lie ---------------------------------------------------------------------- */

static ScanPlace operand_place(const ScanRun *run, const Block *block, int i)
{
    const ScanArray *array = &run->operands[i];
    ScanPlace place = {array->data + block->outer * array->outer + block->place * array->step +
                           block->inner * array->inner,
                       array->step, array->outer};
    if (by_columns(run)) {
        place.step = array->inner;
        place.row = array->step;
    }
    return place;
}

static ScanPlace value_place(const ScanRun *run, const Block *block, int i)
{
    const ScanValue *value = &run->kernel->values[i];
    npy_intp size = value->itemsize;
    ScanPlace place = {run->values[i], size, block->n * size};
    if (value->is_result) {
        place.data += ((block->outer * run->length + block->place) * run->inner + block->inner) * size;
        place.row = (by_columns(run) ? run->inner : run->length) * size;
    }
    return place;
}

/* The elements of an operand side by side. */
static char *side_by_side(const ScanRun *run, Block *block, int i)
{
    const ScanArray *array = &run->operands[i];
    ScanPlace place = operand_place(run, block, i);
    npy_intp length = block->n * array->itemsize;
    if ((place.step == array->itemsize || block->n == 1) && (place.row == length || block->n_rows == 1)) {
        return place.data;
    }
    if (!(block->gathered & (1u << i))) {
        for (npy_intp row = 0; row < block->n_rows; row++) {
            copy_strided(array->buffer + row * length, place.data + row * place.row, place.step, block->n,
                         array->itemsize);
        }
        block->gathered |= 1u << i;
    }
    return array->buffer;
}

/* ---- machine code ---------------------------------------------------------------------------- */

static npy_intp size_at(const ScanKernel *kernel, const ScanCode *code, int i)
{
    if (i >= code->n_operands) {
        return kernel->values[code->results[i - code->n_operands]].itemsize;
    }
    int source = code->operands[i];
    return source < SCAN_OPERANDS ? kernel->operands[source].itemsize
                                  : kernel->values[source - SCAN_OPERANDS].itemsize;
}

static void run_code(ScanRun *run, const ScanCode *code, Block *block)
{
    const ScanKernel *kernel = run->kernel;
    char *data[SCAN_OPERANDS + 2 * SCAN_VALUES], *here[SCAN_OPERANDS + 2 * SCAN_VALUES];
    int n_data = code->n_operands + code->n_results;
    npy_intp n = block->n_rows * block->n;
    for (int i = 0; i < code->n_operands; i++) {
        int source = code->operands[i];
        data[i] = source < SCAN_OPERANDS ? side_by_side(run, block, source)
                                         : value_place(run, block, source - SCAN_OPERANDS).data;
    }
    for (int i = 0; i < code->n_results; i++) {
        data[code->n_operands + i] = value_place(run, block, code->results[i]).data;
    }
    if (n < code->width) {                  /* in copies, with the first element again and again: it raises no other flag */
        char *room = run->scratch + code->scratch;
        for (int i = 0; i < n_data; i++) {
            npy_intp size = size_at(kernel, code, i);
            here[i] = room;
            room += code->width * size;
            if (i < code->n_operands) {
                memcpy(here[i], data[i], (size_t)(n * size));
                copy_strided(here[i] + n * size, here[i], 0, code->width - n, size);
            }
        }
        code->run(here, run->scalars, code->loops, code->width, run->scratch);
        for (int i = code->n_operands; i < n_data; i++) {
            memcpy(data[i], here[i], (size_t)(n * size_at(kernel, code, i)));
        }
        return;
    }
    for (npy_intp start = 0; start < n;) {
        npy_intp count = n - start < code->block ? n - start : code->block;
        if (count < code->width) {          /* the last ones once more with those before them */
            start = n - code->width;
            count = code->width;
        }
        for (int i = 0; i < n_data; i++) {
            here[i] = data[i] + start * size_at(kernel, code, i);
        }
        code->run(here, run->scalars, code->loops, count, run->scratch);
        start += count;
    }
}

/* ---- folds ----------------------------------------------------------------------------------- */

static void fold_rows(const Scan *scan, const ScanPlace *to, const ScanPlace *from, npy_intp n_rows, npy_intp n,
                      const char *before)
{
    if (scan->own != NULL) {
        scan->own->rows(to, from, n_rows, n, before);
        return;
    }
    npy_intp one = 1, rest = n - 1, steps[3] = {to->step, from->step, to->step};
    for (npy_intp row = 0; row < n_rows; row++) {
        char *out = to->data + row * to->row, *in = from->data + row * from->row;
        if (before != NULL) {
            char *data[3] = {(char *)before, in, out};
            scan->loop(data, &one, steps, scan->data);
        }
        else {
            memcpy(out, in, (size_t)scan->itemsize);
        }
        if (rest > 0) {
            char *data[3] = {out, in + from->step, out + to->step};
            scan->loop(data, &rest, steps, scan->data);
        }
    }
}

static void fold_columns(const Scan *scan, char *to, const char *before, const char *from, npy_intp n)
{
    if (before == NULL) {
        memcpy(to, from, (size_t)(n * scan->itemsize));
    }
    else if (scan->own != NULL) {
        scan->own->columns(to, before, from, n);
    }
    else {
        char *data[3] = {(char *)before, (char *)from, to};
        npy_intp steps[3] = {scan->itemsize, scan->itemsize, scan->itemsize};
        scan->loop(data, &n, steps, scan->data);
    }
}

static void columns_of_block(ScanRun *run, const Scan *scan, const Block *block, ScanPlace to,
                             ScanPlace from, char *carried)
{
    npy_intp size = scan->itemsize;
    bool is_result = run->kernel->values[scan->value].is_result;
    if (block->n <= FEW_COLUMNS && block->n_rows == run->length) {
        ScanPlace down = {to.data, to.row, to.step}, in = {from.data, from.row, from.step};
        fold_rows(scan, &down, &in, block->n, run->length, NULL);
        return;
    }
    for (npy_intp row = 0; row < block->n_rows; row++) {
        char *in = from.data + row * from.row, *out = to.data + row * to.row;
        const char *before = out - to.row;
        if (from.step != size) {
            char *buffer = run->operands[scan->source].buffer;
            copy_strided(buffer, in, from.step, block->n, size);
            in = buffer;
        }
        if (block->place + row == 0) {
            before = NULL;
        }
        else if (row == 0 && !is_result) {
            before = carried;
        }
        fold_columns(scan, out, before, in, block->n);
    }
    if (!is_result) {
        memcpy(carried, to.data + (block->n_rows - 1) * to.row, (size_t)(block->n * size));
    }
}

static void fold_block(ScanRun *run, const Scan *scan, const Block *block, char *carried)
{
    ScanPlace to = value_place(run, block, scan->value);
    ScanPlace from = scan->source < SCAN_OPERANDS
                         ? operand_place(run, block, scan->source)
                         : value_place(run, block, scan->source - SCAN_OPERANDS);
    if (scan->clears) {
        run->flags |= flags_raised();
    }
    if (by_columns(run)) {
        columns_of_block(run, scan, block, to, from, carried);
    }
    else {
        fold_rows(scan, &to, &from, block->n_rows, block->n, block->place > 0 ? carried : NULL);
        memcpy(carried, to.data + (block->n - 1) * to.step, (size_t)scan->itemsize);
    }
    if (scan->clears) {
        flags_clear();
    }
}

static void run_block(ScanRun *run, Block block)
{
    block.gathered = 0;
    for (int p = 0; p < run->kernel->n_phases; p++) {
        const ScanPhase *phase = &run->kernel->phases[p];
        if (phase->code.run != NULL) {
            run_code(run, &phase->code, &block);
        }
        for (int k = 0; k < phase->n_scans; k++) {
            fold_block(run, &phase->scans[k], &block, run->carried[p][k]);
        }
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

npy_intp scan_carried(const ScanRun *run, const Scan *scan)
{
    npy_intp n = run->inner < SCAN_BLOCK ? run->inner : SCAN_BLOCK;
    return by_columns(run) ? n * scan->itemsize : KERNEL_SCALAR_SIZE;
}

static npy_intp least(npy_intp one, npy_intp other)
{
    return one < other ? one : other;
}

void scan_run(ScanRun *run)
{
    bool alone = !run->kernel->has_code && run->kernel->n_phases == 1; /* nothing but folds: no block need fit the cache */
    npy_intp width = by_columns(run) ? run->inner : run->length;
    npy_intp rows = by_columns(run) ? run->length : run->outer;
    npy_intp n = alone && !by_columns(run) ? width : least(width, SCAN_BLOCK);
    npy_intp n_rows = alone ? rows : n < width ? 1 : SCAN_BLOCK / n;
    flags_clear();
    for (npy_intp outer = 0; outer < (by_columns(run) ? run->outer : 1); outer++) {
        if (!by_columns(run)) {
            for (npy_intp row = 0; row < rows; row += n_rows) {
                for (npy_intp place = 0; place < width; place += n) {
                    Block block = {row, place, 0, least(n_rows, rows - row), least(n, width - place), 0};
                    run_block(run, block);
                }
            }
            continue;
        }
        for (npy_intp inner = 0; inner < width; inner += n) {
            for (npy_intp row = 0; row < rows; row += n_rows) {
                Block block = {outer, row, inner, least(n_rows, rows - row), least(n, width - inner), 0};
                run_block(run, block);
            }
        }
    }
    run->flags |= flags_raised();
}
