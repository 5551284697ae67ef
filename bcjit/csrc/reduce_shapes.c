/* reduce_shapes.c - what the arrays of a call are to a run of a ReduceKernel: which axes in which order, how each operand lies along them,
 * and in which pieces NumPy folds them. It computes nothing.
 *
 * NumPy goes through the operand of a reduction in the order of its strides, largest first, and makes results that lie so. All operands
 * must agree on an order: then what is made of them lies in it as well.
 */
#include "reduce.h"

#include <string.h>

/* Elements in a buffer of NumPy's, and in the smallest one that a program can ask for. */
#define BUFFER ((npy_intp)8192)
#define SMALLEST_BUFFER 16

static npy_intp size_of(npy_intp stride)
{
    return stride < 0 ? -stride : stride;
}

static bool common_shape(ReduceRun *run, const KernelView *views)
{
    int ndim = run->kernel->ndim;
    for (int axis = 0; axis < ndim; axis++) {
        run->shape[axis] = 1;
    }
    for (int i = 0; i < run->kernel->n_operands; i++) {
        if (views[i].ndim > ndim) {
            return false;
        }
        npy_intp *to = run->shape + ndim - views[i].ndim;
        for (int axis = 0; axis < views[i].ndim; axis++) {
            npy_intp size = views[i].dims[axis];
            if (to[axis] == 1) {
                to[axis] = size;
            }
            else if (size != 1 && size != to[axis]) {
                return false;
            }
        }
    }
    return true;
}

/* The stride of an axis of the shape in common; 0 where an operand is repeated. */
static npy_intp stride_of(const ReduceRun *run, const KernelView *view, int axis)
{
    int at = axis - (run->kernel->ndim - view->ndim);
    return at < 0 || view->dims[at] == 1 ? 0 : view->strides[at];
}

/* Backwards, some of NumPy's loops go another way, with other last bits. */
static bool is_in_order(const ReduceRun *run, const KernelView *view)
{
    npy_intp before = NPY_MAX_INTP;
    for (int k = 0; k < run->kernel->ndim; k++) {
        npy_intp stride = stride_of(run, view, run->order[k]), size = size_of(stride);
        if (size > before || (stride < 0 && run->kernel->code_loops)) {
            return false;
        }
        before = size == 0 ? before : size;
    }
    return true;
}

static bool all_in_order(const ReduceRun *run, const KernelView *views)
{
    for (int i = 0; i < run->kernel->n_operands; i++) {
        if (!is_in_order(run, &views[i])) {
            return false;
        }
    }
    return true;
}

/* C's order of axes, or another one on which all operands agree in each axis: numbers aside, none is repeated. */
static bool set_order(ReduceRun *run, const KernelView *views)
{
    const ReduceKernel *kernel = run->kernel;
    int ndim = kernel->ndim;
    const KernelView *first = NULL;
    for (int axis = 0; axis < ndim; axis++) {
        run->order[axis] = axis;
    }
    if (all_in_order(run, views)) {
        return true;
    }
    if (kernel->has_positions || kernel->keeps_dims) {
        return false;                       /* these count in C's order; axes of one element lie otherwise */
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        if (views[i].ndim == 0) {
            continue;
        }
        for (int axis = 0; axis < ndim; axis++) {
            if (run->shape[axis] == 1 || stride_of(run, &views[i], axis) == 0) {
                return false;
            }
        }
        first = first == NULL ? &views[i] : first;
    }
    for (int k = 1; first != NULL && k < ndim; k++) {
        for (int at = k; at > 0; at--) {
            int axis = run->order[at], before = run->order[at - 1];
            if (size_of(stride_of(run, first, before)) >= size_of(stride_of(run, first, axis))) {
                break;
            }
            run->order[at] = before;
            run->order[at - 1] = axis;
        }
    }
    return kernel->folds_axis[run->order[ndim - 1]] == kernel->trailing && all_in_order(run, views);
}

/* Puts the axes of more than one element into groups. `axes` gets them as `dims` has them. */
static void set_axes(ReduceRun *run, int *axes)
{
    const ReduceKernel *kernel = run->kernel;
    npy_intp strides[REDUCE_DIMS], total = 1;
    int last = kernel->ndim, n = 0;
    while (last > 0 && !kernel->folds_axis[run->order[last - 1]]) {
        last--;                             /* behind it all axes stay */
    }
    for (int k = kernel->ndim - 1; k >= 0; k--) {
        strides[run->order[k]] = total;
        total *= run->shape[run->order[k]];
    }
    run->n_outer = run->n_reduced = run->n_inner = 0;
    run->outer = run->reduced = run->inner = run->segment = 1;
    run->apart = false;
    bool began = false;
    for (int k = 0; k < last; k++) {
        int axis = run->order[k];
        if (run->shape[axis] != 1 && !kernel->folds_axis[axis]) {
            axes[n++] = axis;
            run->n_outer++;
            run->outer *= run->shape[axis];
            run->apart = run->apart || began;
        }
        began = began || (run->shape[axis] != 1 && kernel->folds_axis[axis]);
    }
    for (int k = 0; k < last; k++) {
        int axis = run->order[k];
        if (run->shape[axis] == 1) {
            continue;
        }
        if (!kernel->folds_axis[axis]) {
            run->segment = 1;
            continue;
        }
        axes[n++] = axis;
        run->n_reduced++;
        run->reduced *= run->shape[axis];
        run->segment *= run->shape[axis];
    }
    for (int k = last; k < kernel->ndim; k++) {
        int axis = run->order[k];
        if (run->shape[axis] != 1) {
            axes[n++] = axis;
            run->n_inner++;
            run->inner *= run->shape[axis];
        }
    }
    for (int k = 0; k < n; k++) {
        run->dims[k] = run->shape[axes[k]];
        run->result_strides[k] = strides[axes[k]];
    }
}

/* What one axis of sizes and strides, outermost first, is as one axis; false: it is none. */
static bool merged(const npy_intp *dims, const npy_intp *strides, const npy_intp *firsts, int n, npy_intp *stride)
{
    *stride = n > 0 ? strides[n - 1] : 0;
    for (int axis = 0; axis < n; axis++) {
        if (firsts[axis] != 0) {
            return false;
        }
    }
    for (int axis = n - 1; axis > 0; axis--) {
        if (strides[axis - 1] != strides[axis] * dims[axis]) {
            return false;
        }
    }
    return true;
}

static void set_operand(ReduceRun *run, int i, const KernelView *view, const int *axes)
{
    ReduceArray *operand = &run->operands[i];
    int reduced = run->n_outer, inner = reduced + run->n_reduced;
    operand->data = view->data;
    operand->itemsize = run->kernel->operands[i].from.itemsize;
    operand->filled_from = NULL;
    operand->filled = 0;
    operand->is_rolled = view->is_rolled;
    for (int k = 0; k < inner + run->n_inner; k++) {
        operand->strides[k] = stride_of(run, view, axes[k]);
        operand->firsts[k] = 0;
        if (view->is_rolled && operand->strides[k] != 0) {
            operand->firsts[k] = view->firsts[axes[k] - (run->kernel->ndim - view->ndim)];
        }
    }
    operand->outer_merges = merged(run->dims, operand->strides, operand->firsts, run->n_outer, &operand->outer);
    operand->step_merges = merged(run->dims + reduced, operand->strides + reduced, operand->firsts + reduced,
                                  run->n_reduced, &operand->step);
    operand->inner_merges = merged(run->dims + inner, operand->strides + inner, operand->firsts + inner,
                                   run->n_inner, &operand->inner);
}

/* In how many elements at a time NumPy folds what no other axis divides: all of it where that is one axis; else it goes through a
 * buffer, which holds as many whole inner axes as fit. 0: that is not known. */
static npy_intp pieces_of(const ReduceRun *run, const ReduceArray *operand, bool casts)
{
    npy_intp dims[REDUCE_DIMS], left = run->segment, core = 1;
    int n = 0;
    if (operand == NULL) {
        dims[n++] = run->segment;           /* what is made lies side by side */
    }
    for (int k = run->n_outer + run->n_reduced - 1; operand != NULL && left > 1; k--) {
        npy_intp stride = operand->strides[k];
        left /= run->dims[k];
        if (n > 0 && stride == operand->strides[k + 1] * run->dims[k + 1]) {
            dims[n - 1] *= run->dims[k];
        }
        else {
            dims[n++] = run->dims[k];
        }
    }
    if (n < 2 && !casts) {
        return run->kernel->pieces;
    }
    if (run->kernel->pieces <= BUFFER) {
        return BUFFER;
    }
    if (!casts && dims[0] > BUFFER) {
        return 0;
    }
    for (int k = 0; k < n && core * dims[k] <= BUFFER; k++) {
        core *= dims[k];
    }
    return BUFFER / core * core;
}

/* Whether NumPy's buffer has its usual size. `numpy.getbufsize` takes half a microsecond; what it reads is in a variable of the context, whose
 * parts are those of `npy_extobj` in numpy/_core/src/umath/extobj.h as long as the two agree. */
typedef struct {
    int modes;
    npy_intp size;
    PyObject *handler;
} Settings;

static npy_intp asked_size(PyObject *numpy)
{
    PyObject *size = numpy == NULL ? NULL : PyObject_CallMethod(numpy, "getbufsize", NULL);
    npy_intp found = size == NULL ? -1 : PyLong_AsSsize_t(size);
    Py_XDECREF(size);
    return found;
}

static npy_intp read_size(PyObject *variable)
{
    PyObject *capsule = NULL;
    if (PyContextVar_Get(variable, NULL, &capsule) < 0 || capsule == NULL) {
        return -1;
    }
    const Settings *settings = PyCapsule_GetPointer(capsule, "numpy.ufunc.extobj");
    npy_intp size = settings == NULL ? -1 : settings->size;
    Py_DECREF(capsule);
    return size;
}

static bool has_usual_buffer(void)
{
    static PyObject *numpy = NULL, *variable = NULL;
    static bool can_read = false;
    if (numpy == NULL) {
        PyObject *inside = PyImport_ImportModule("numpy._core._multiarray_umath");
        variable = inside == NULL ? NULL : PyObject_GetAttrString(inside, "_extobj_contextvar");
        Py_XDECREF(inside);
        numpy = PyImport_ImportModule("numpy");
        npy_intp size = asked_size(numpy);
        can_read = variable != NULL && PyContextVar_CheckExact(variable) && size > 0 && read_size(variable) == size;
        PyErr_Clear();
    }
    npy_intp found = can_read ? read_size(variable) : asked_size(numpy);
    PyErr_Clear();
    return found == BUFFER;
}

/* How each phase folds; false: NumPy does it in a way that the kernel has not. */
static bool set_pieces(ReduceRun *run)
{
    const ReduceKernel *kernel = run->kernel;
    bool by_buffer = false;
    for (int p = 0; p < kernel->n_phases; p++) {
        const Phase *phase = &kernel->phases[p];
        npy_intp pieces = 0;
        run->gathers[p] = false;
        for (int i = 0; i < phase->n_folds; i++) {
            const Fold *fold = &phase->folds[i];
            const ReduceArray *operand = NULL;
            if (fold->source.space == IN_OPERAND) {
                operand = &run->operands[fold->source.index];
                bool side_by_side = operand->step_merges && operand->step == operand->itemsize;
                side_by_side = side_by_side || run->reduced == 1;
                run->gathers[p] = run->gathers[p] || !side_by_side;
                if (!side_by_side && (fold->kind == FOLD_WHOLE || fold->kind == FOLD_POSITION)) {
                    return false;
                }
            }
            else if (fold->cast_of >= 0) {
                operand = &run->operands[fold->cast_of];
            }
            if (fold->kind != FOLD_FLOAT64 && fold->kind != FOLD_FLOAT32 && fold->kind != FOLD_WHOLE) {
                continue;                   /* in any pieces */
            }
            operand = operand != NULL && operand->is_rolled ? NULL : operand; /* a copy */
            npy_intp found = pieces_of(run, operand, fold->cast_of != CAST_NONE);
            by_buffer = by_buffer || found != NPY_MAX_INTP;
            found = found > run->segment ? run->segment : found;
            if (found == 0 || (pieces != 0 && pieces != found)) {
                return false;
            }
            pieces = found;
        }
        run->pieces[p] = pieces == 0 ? run->segment : pieces;
    }
    return !by_buffer || run->segment <= SMALLEST_BUFFER || has_usual_buffer();
}

/* The usual small call: operands of one shape that lie side by side in C's order, and such ones of what is folded alone. */
static bool set_alike(ReduceRun *run, PyObject *const *args)
{
    const ReduceKernel *kernel = run->kernel;
    int ndim = kernel->ndim, first = kernel->first_axis, behind = first + kernel->n_axes;
    const npy_intp *shape = NULL;
    if (!kernel->is_plain) {
        return false;
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        PyArrayObject *array = (PyArrayObject *)args[kernel->operands[i].from.argument];
        if (!PyArray_IS_C_CONTIGUOUS(array)) {
            return false;
        }
        shape = shape == NULL && PyArray_NDIM(array) == ndim ? PyArray_DIMS(array) : shape;
    }
    if (shape == NULL) {
        return false;
    }
    run->outer = run->reduced = run->inner = 1;
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp *to = axis < first ? &run->outer : axis < behind ? &run->reduced : &run->inner;
        *to *= shape[axis];
        run->shape[axis] = shape[axis];
        run->order[axis] = axis;
    }
    if (run->outer * run->reduced * run->inner == 0 || (run->inner == 1 && !kernel->trailing)) {
        return false;
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        PyArrayObject *array = (PyArrayObject *)args[kernel->operands[i].from.argument];
        ReduceArray *operand = &run->operands[i];
        int missing = ndim - PyArray_NDIM(array);
        if (missing != 0 && (missing != first || kernel->operands[i].folded)) {
            return false;
        }
        for (int axis = missing; axis < ndim; axis++) {
            if (PyArray_DIM(array, axis - missing) != shape[axis]) {
                return false;
            }
        }
        npy_intp size = kernel->operands[i].from.itemsize;
        operand->data = PyArray_BYTES(array);
        operand->itemsize = operand->inner = size;
        operand->step = run->inner * size;
        operand->outer = missing > 0 ? 0 : run->reduced * run->inner * size;
        operand->outer_merges = operand->step_merges = operand->inner_merges = true;
        operand->is_rolled = false;
        operand->strides[0] = operand->outer;
        operand->strides[1] = operand->step;
        operand->filled_from = NULL;
        operand->filled = 0;
    }
    run->n_outer = run->n_reduced = run->n_inner = 1;
    run->dims[0] = run->outer;
    run->dims[1] = run->reduced;
    run->dims[2] = run->inner;
    run->apart = false;
    run->segment = run->reduced;
    for (int p = 0; p < kernel->n_phases; p++) {
        const Phase *phase = &kernel->phases[p];
        run->gathers[p] = false;
        run->pieces[p] = run->segment;
        bool by_buffer = phase->in_pieces && (phase->casts || kernel->pieces <= BUFFER);
        if ((phase->in_pieces && run->segment > BUFFER) ||
            (by_buffer && run->segment > SMALLEST_BUFFER && !has_usual_buffer())) {
            return false;                   /* as below */
        }
    }
    return true;
}

/* Elements of which the call itself takes longer than the loops. */
#define FEW 256

/* Folded elements between which others lie are few at a time: NumPy's loops do these as fast, and what is only summed. */
static bool is_slow(const ReduceRun *run)
{
    const ReduceKernel *kernel = run->kernel;
    const Phase *first = &kernel->phases[0];
    if (!run->apart || run->outer * run->reduced * run->inner <= FEW) {
        return false;
    }
    if (run->inner > 1) {
        return run->inner < 32;
    }
    if (kernel->n_phases == 1 && first->big.run == NULL) {
        return run->outer * run->reduced > 4096;
    }
    return run->segment < (kernel->n_phases == 1 && first->tree ? 64 : 8);
}

/* Whether NumPy's loops are to be called for one element alone: strides of any size are seen there, also below 0, and they look at them. */
static bool is_one_for_loops(const ReduceRun *run)
{
    const ReduceKernel *kernel = run->kernel;
    if (!kernel->code_loops || run->outer * run->inner > 1) {
        return false;
    }
    bool found = run->reduced == 1;
    for (int p = 0; p < kernel->n_phases; p++) {
        const Code *small = &kernel->phases[p].small;
        found = found || (small->loops != NULL && small->loops[0] != NULL);
    }
    return found;
}

static bool set_shapes(ReduceRun *run, PyObject *const *args)
{
    if (set_alike(run, args)) {
        return true;
    }
    const ReduceKernel *kernel = run->kernel;
    KernelView views[REDUCE_OPERANDS];
    int axes[REDUCE_DIMS];
    for (int i = 0; i < kernel->n_operands; i++) {
        if (!bcjit_kernel_view(&kernel->operands[i].from, args, &views[i])) {
            return false;
        }
    }
    if (!common_shape(run, views) || !set_order(run, views)) {
        return false;
    }
    set_axes(run, axes);
    if (run->outer * run->reduced * run->inner == 0 || (run->inner == 1 && !kernel->trailing)) {
        return false;
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        for (int axis = 0; kernel->operands[i].folded && axis < kernel->ndim; axis++) {
            if (run->shape[axis] != 1 && stride_of(run, &views[i], axis) == 0) {
                return false;
            }
        }
        set_operand(run, i, &views[i], axes);
    }
    return !is_slow(run) && (run->inner > 1 || set_pieces(run));
}

int reduce_set_shapes(ReduceRun *run, PyObject *const *args)
{
    if (!set_shapes(run, args)) {
        return 0;
    }
    return is_one_for_loops(run) ? KERNEL_TOO_FEW : 1;
}
