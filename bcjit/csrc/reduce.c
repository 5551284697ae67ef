/* reduce.c - ReduceKernel: elementwise work and reductions of it as one callable over arrays; it knows no operation.
 *
 * As kernel.c does it: what is not as it was compiled for, a flag that NumPy's error state does not ignore, and values whose bits NumPy's
 * order of blocks decides, are left to `fallback`, the same calls in NumPy. Results are new memory.
 */
#include "reduce.h"
#include "kernel_pool.h"

#include <string.h>

/* ---- a call ---------------------------------------------------------------------------------- */

static PyObject *new_result(const ReduceRun *run, const Result *result)
{
    const ReduceKernel *kernel = run->kernel;
    npy_intp dims[REDUCE_DIMS], strides[REDUCE_DIMS], of_axes[REDUCE_DIMS];
    npy_intp stride = PyDataType_ELSIZE(result->descr);
    int ndim = 0;
    bool in_order = true, of_elements = result->place.space == IN_BIG;
    for (int k = kernel->ndim - 1; k >= 0; k--) {
        int axis = run->order[k];
        in_order = in_order && axis == k;
        of_axes[axis] = stride;
        stride *= of_elements || !kernel->folds_axis[axis] ? run->shape[axis] : 1;
    }
    for (int axis = 0; axis < kernel->ndim; axis++) {
        bool folded = !of_elements && kernel->folds_axis[axis];
        if (!folded || result->kind == RESULT_KEEPS_DIMS) {
            strides[ndim] = of_axes[axis];
            dims[ndim++] = folded ? 1 : run->shape[axis];
        }
    }
    Py_INCREF(result->descr);
    return PyArray_NewFromDescr(&PyArray_Type, result->descr, ndim, dims,
                                in_order ? NULL : strides, NULL, 0, NULL);
}

/* A number where NumPy gives one: there is no array then. */
static PyObject *handed_out(const Result *result, PyObject *array, char *number)
{
    switch (result->kind) {
    case RESULT_SCALAR: return PyArray_Scalar(number, result->descr, NULL);
    case RESULT_INT: return PyLong_FromLongLong(*(npy_int64 *)number);
    default: return array;
    }
}

static bool is_number(const Result *result)
{
    return result->kind == RESULT_SCALAR || result->kind == RESULT_INT;
}

static size_t rounded(npy_intp size)
{
    return ((size_t)size + 63) & ~(size_t)63;
}

/* Rows or columns that go through all phases at once. */
static npy_intp tile_of(const ReduceRun *run)
{
    if (run->inner > 1) {
        return run->inner <= REDUCE_BLOCK ? run->inner : REDUCE_BLOCK / 2;
    }
    npy_intp rows = 8 * REDUCE_BLOCK / run->reduced;
    return rows < 1 ? 1 : rows > run->outer ? run->outer : rows;
}

/* Memory for a run. With `memory` NULL only its size. */
static size_t place_all(ReduceRun *run, char *memory)
{
    const ReduceKernel *kernel = run->kernel;
    size_t at = rounded(kernel->scratch);
#define TAKE(to, size) \
    do { \
        if (memory != NULL) { \
            (to) = memory + at; \
        } \
        at += rounded(size); \
    } while (0)
    run->scratch = memory;
    for (int i = 0; i < kernel->n_operands; i++) {
        ReduceArray *operand = &run->operands[i];
        bool side_by_side = run->inner == 1 && !run->copies && operand->step_merges && operand->step == operand->itemsize;
        if (!side_by_side) {
            TAKE(operand->buffer, REDUCE_BLOCK * operand->itemsize);
        }
    }
    for (int i = 0; i < kernel->n_bigs; i++) {
        const Big *big = &kernel->bigs[i];
        if (big->kind == BIG_BLOCK) {
            TAKE(run->bigs[i], REDUCE_BLOCK * big->itemsize);
        }
        else if (big->kind == BIG_TILE) {
            TAKE(run->bigs[i], run->tile * run->reduced * big->itemsize);
        }
    }
    for (int i = 0; i < kernel->n_smalls; i++) {
        npy_intp size = kernel->smalls[i].itemsize;
        if (run->small_results[i] == NULL) {
            TAKE(run->smalls[i], run->tile * size);
        }
        run->spread[i].itemsize = size;
        if (run->inner > 1) {
            TAKE(run->spread[i].buffer, REDUCE_BLOCK * size);
        }
    }
#undef TAKE
    return at;
}

/* From here on other threads run meanwhile. */
#define WITHOUT_GIL ((npy_intp)1 << 15)
/* Rows that are shorter than a vector are slow one by one. */
#define FEW_ROWS 16

static bool has_short_rows(const ReduceRun *run)
{
    if (run->inner > 1 || run->outer < FEW_ROWS) {
        return false;
    }
    for (int p = 0; p < run->kernel->n_phases; p++) {
        const Code *code = &run->kernel->phases[p].big;
        if (code->run != NULL && code->by_rows && run->reduced < code->width) {
            return true;
        }
    }
    return false;
}

/* How many elements each result is made of, or one less, but not less than none. */
static bool store_size(ReduceRun *run, int i)
{
    const KernelScalar *scalar = &run->kernel->scalars[i];
    npy_intp size = run->reduced + 1 + scalar->argument;
    char *to = run->scalars + i * KERNEL_SCALAR_SIZE;
    size = size < 0 ? 0 : size;
    switch (scalar->type) {
    case NPY_LONG:
    case NPY_LONGLONG: *(npy_int64 *)to = size; return sizeof(npy_long) == 8 || scalar->type == NPY_LONGLONG;
    case NPY_DOUBLE: *(double *)to = (double)size; return true;
    default: return false;
    }
}

/* 1 done, 0 not what the kernel is for, -1 an error is set. */
static int compute(ReduceKernel *kernel, PyObject *const *args, PyObject **results,
                   char *numbers)
{
    ReduceRun run;
    for (int i = 0; i < kernel->n_operands; i++) {
        PyObject *value = args[kernel->operands[i].from.argument];
        if (Py_TYPE(value) != &PyArray_Type) {
            return 0;
        }
        PyArrayObject *array = (PyArrayObject *)value;
        if (PyArray_TYPE(array) != kernel->operands[i].from.type || !PyArray_ISALIGNED(array) ||
            !PyArray_ISNOTSWAPPED(array)) {
            return 0;
        }
        if (PyArray_SIZE(array) == 0) {
            return KERNEL_TOO_FEW;
        }
    }
    for (int i = 0; i < kernel->n_scalars; i++) {
        const KernelScalar *scalar = &kernel->scalars[i];
        if (scalar->argument >= 0 && !store_scalar(run.scalars + i * KERNEL_SCALAR_SIZE, args[scalar->argument], scalar)) {
            return 0;
        }
    }
    run.kernel = kernel;
    int shaped = reduce_set_shapes(&run, args);
    if (shaped <= 0) {
        return shaped;
    }
    npy_intp total = run.outer * run.reduced * run.inner;
    for (int i = 0; i < kernel->n_scalars; i++) {
        if (kernel->scalars[i].argument < 0 && !store_size(&run, i)) {
            return 0;
        }
    }
    if (has_short_rows(&run)) {
        return 0;
    }
    memset(run.small_results, 0, (size_t)kernel->n_smalls * sizeof(run.small_results[0]));
    run.flags = 0;
    run.unsure = false;
    for (int i = 0; i < kernel->n_results; i++) {
        const Result *result = &kernel->results[i];
        char *data = numbers + i * KERNEL_SCALAR_SIZE;
        if (!is_number(result)) {
            results[i] = new_result(&run, result);
            if (results[i] == NULL) {
                return -1;
            }
            data = PyArray_BYTES((PyArrayObject *)results[i]);
        }
        if (result->place.space == IN_BIG) {
            run.bigs[result->place.index] = data;
        }
        else {
            run.small_results[result->place.index] = data;
        }
    }
    run.tile = tile_of(&run);
    run.copies = run.inner == 1 && !run.apart && run.outer > 1 && run.reduced < SHORT_ROW;
    int threads = total < WITHOUT_GIL ? 1 : bcjit_pool_threads(), done = 1;
    if (threads < 0) {
        return -1;
    }
    size_t size = place_all(&run, NULL), got;
    char *memory = scratch_take((size_t)threads * size + 64, &got);
    if (memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    char *from = (char *)(((npy_uintp)memory + 63) & ~(npy_uintp)63);
    place_all(&run, from);
    if (total < WITHOUT_GIL) {
        reduce_run(&run, 0, reduce_tiles(&run));
    }
    else {
        done = reduce_all(kernel, &run, from, size, threads, place_all);
    }
    scratch_give(memory, got);
    if (done < 0) {
        return -1;
    }
    int outcome = kernel_outcome(&kernel->head, run.flags);
    return outcome > 0 && run.unsure ? 0 : outcome;
}

static PyObject *ReduceKernel_call(PyObject *self, PyObject *const *args, size_t nargsf,
                                   PyObject *kwnames)
{
    ReduceKernel *kernel = (ReduceKernel *)self;
    PyObject *results[REDUCE_RESULTS] = {NULL};
    _Alignas(16) char numbers[REDUCE_RESULTS * KERNEL_SCALAR_SIZE];
    if (!kernel_is_asked(&kernel->head, nargsf, kwnames)) {
        return kernel_falls_back(&kernel->head, args, nargsf, kwnames);
    }
    kernel->head.calls++;
    int done = compute(kernel, args, results, numbers), n = kernel->n_results;
    if (done <= 0) {
        return kernel_no_results(&kernel->head, done, results, n, args);
    }
    for (int i = 0; i < n; i++) {
        results[i] = handed_out(&kernel->results[i], results[i], numbers + i * KERNEL_SCALAR_SIZE);
    }
    return kernel_results(results, n, 0);
}

/* ---- from Python ----------------------------------------------------------------------------- */

static int wrong(const char *what)
{
    return kernel_is_wrong("ReduceKernel", what);
}

static int count_of(PyObject *given, int most, const char *what)
{
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) > most) {
        return wrong(what);
    }
    return (int)PyTuple_GET_SIZE(given);
}

static int read_places(PyObject *given, Place *to, int most)
{
    int n = count_of(given, most, "too many places");
    for (int i = 0; i < n; i++) {
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "ii", &to[i].space, &to[i].index)) {
            return -1;
        }
    }
    return n;
}

static int read_code(ReduceKernel *kernel, PyObject *given, Code *code)
{
    PyObject *address, *owner, *loops, *operands, *numbers, *results;
    if (given == Py_None) {
        return 0;
    }
    if (!PyArg_ParseTuple(given, "O!OO!nnnOOO", &PyLong_Type, &address, &owner, &PyTuple_Type, &loops,
                          &code->width, &code->block, &code->scratch, &operands, &numbers, &results)) {
        return -1;
    }
    Py_ssize_t n_loops = PyTuple_GET_SIZE(loops);
    code->loops = PyMem_Calloc((size_t)n_loops + 1, sizeof(void *));
    if (code->loops == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n_loops; i++) {
        code->loops[i] = PyLong_AsVoidPtr(PyTuple_GET_ITEM(loops, i));
    }
    kernel->loops = kernel->loops || n_loops > 0;
    kernel->code_loops = kernel->code_loops || n_loops > 0;
    code->owner = Py_NewRef(owner);
    code->n_operands = read_places(operands, code->operands, KERNEL_OPERANDS);
    code->n_numbers = read_places(numbers, code->numbers, KERNEL_SCALARS);
    code->n_results = read_places(results, code->results, KERNEL_OPERANDS);
    code->run = (kernel_run)(npy_uintp)PyLong_AsVoidPtr(address);
    if (PyErr_Occurred() || code->run == NULL || code->width < 1 || code->block < code->width ||
        code->scratch < 0) {
        return wrong("machine code");
    }
    code->scratch = (npy_intp)rounded(code->scratch);
    for (int i = 0; i < code->n_numbers; i++) {
        code->by_rows = code->by_rows || code->numbers[i].space == IN_SMALL;
    }
    npy_intp padding = code->width * KERNEL_SCALAR_SIZE * (code->n_operands + code->n_results);
    if (kernel->scratch < code->scratch + padding) {
        kernel->scratch = code->scratch + padding;
    }
    return 0;
}

static int read_fold(ReduceKernel *kernel, PyObject *given, Fold *fold)
{
    PyObject *loop, *data, *initial;
    int unsure, clears;
    if (!PyArg_ParseTuple(given, "i(ii)iO!O!Oppi", &fold->kind, &fold->source.space, &fold->source.index,
                          &fold->small, &PyLong_Type, &loop, &PyLong_Type, &data, &initial, &unsure,
                          &clears, &fold->cast_of)) {
        return -1;
    }
    fold->loop = (PyUFuncGenericFunction)(npy_uintp)PyLong_AsVoidPtr(loop);
    fold->data = PyLong_AsVoidPtr(data);
    fold->unsure = unsure != 0;
    fold->clears = clears != 0;
    kernel->loops = kernel->loops || fold->kind >= FOLD_LOOP;
    fold->begins = initial != Py_None;
    if (fold->begins) {
        if (!PyBytes_Check(initial) || PyBytes_GET_SIZE(initial) > KERNEL_SCALAR_SIZE) {
            return wrong("initial value");
        }
        memcpy(fold->initial, PyBytes_AS_STRING(initial), (size_t)PyBytes_GET_SIZE(initial));
    }
    bool in_operand = fold->source.space == IN_OPERAND;
    int limit = in_operand ? kernel->n_operands : kernel->n_bigs;
    if (PyErr_Occurred() || fold->source.index < 0 || fold->source.index >= limit || fold->small < 0 ||
        fold->small >= kernel->n_smalls || fold->cast_of < CAST_MADE || fold->cast_of >= kernel->n_operands) {
        return wrong("fold");
    }
    int type = in_operand ? kernel->operands[fold->source.index].from.type
                          : kernel->bigs[fold->source.index].type;
    fold->source_size = kernel_itemsize(type);
    if (fold->kind == FOLD_POSITION) {
        kernel->has_positions = true;
        PyArray_Descr *descr = PyArray_DescrFromType(type);
        /* `loop` says which: 1 argmax, 2 argmin. */
        PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(descr);
        fold->position = PyLong_AsLong(loop) == 1 ? functions->argmax : functions->argmin;
        Py_DECREF(descr);
        fold->loop = NULL;
        return fold->position == NULL ? wrong("no argmax") : 0;
    }
    return fold->loop == NULL ? wrong("no loop") : 0;
}

static int read_phases(ReduceKernel *kernel, PyObject *given)
{
    kernel->n_phases = count_of(given, REDUCE_PHASES, "too many phases");
    for (int i = 0; i < kernel->n_phases; i++) {
        Phase *phase = &kernel->phases[i];
        PyObject *big, *folds, *small;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "OOO", &big, &folds, &small) ||
            read_code(kernel, big, &phase->big) < 0 || read_code(kernel, small, &phase->small) < 0) {
            return -1;
        }
        phase->n_folds = count_of(folds, REDUCE_FOLDS, "too many folds");
        for (int k = 0; k < phase->n_folds; k++) {
            if (read_fold(kernel, PyTuple_GET_ITEM(folds, k), &phase->folds[k]) < 0) {
                return -1;
            }
            int kind = phase->folds[k].kind;
            phase->tree = phase->tree || kind == FOLD_FLOAT64 || kind == FOLD_FLOAT32;
            phase->casts = phase->casts || phase->folds[k].cast_of != CAST_NONE;
            phase->in_pieces = phase->in_pieces || phase->tree || kind == FOLD_WHOLE;
        }
        if (phase->n_folds < 0) {
            return -1;
        }
        phase->in_parts = true;
        for (int k = 0; k < phase->n_folds; k++) {
            const Fold *fold = &phase->folds[k];
            int type = kernel->smalls[fold->small].type;
            bool any_order = fold->clears || PyTypeNum_ISINTEGER(type) || PyTypeNum_ISBOOL(type);
            phase->in_parts = phase->in_parts && fold->kind != FOLD_WHOLE && fold->kind != FOLD_POSITION &&
                              (fold->kind != FOLD_LOOP || any_order);
        }
    }
    return kernel->n_phases < 0 ? -1 : 0;
}

static int read_arguments(ReduceKernel *kernel, PyObject *operands, PyObject *scalars)
{
    kernel->n_operands = count_of(operands, REDUCE_OPERANDS, "too many operands");
    for (int i = 0; i < kernel->n_operands; i++) {
        KernelOperand *operand = &kernel->operands[i].from;
        PyObject *code;
        int folded;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(operands, i), "iiO!p", &operand->argument, &operand->type,
                              &PyTuple_Type, &code, &folded) ||
            bcjit_kernel_read_code(operand, code) < 0) {
            return -1;
        }
        kernel->operands[i].folded = folded != 0;
        kernel->is_plain = kernel->is_plain && operand->n_code == 0;
        operand->itemsize = kernel_itemsize(operand->type);
        if (operand->argument < 0 || operand->argument >= kernel->head.n_arguments) {
            return wrong("no such argument");
        }
    }
    int n = count_of(scalars, KERNEL_SCALARS, "too many numbers");
    for (int i = 0; i < n; i++) {
        KernelScalar *scalar = &kernel->scalars[i];
        int is_numpy;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(scalars, i), "iip", &scalar->argument, &scalar->type,
                              &is_numpy)) {
            return -1;
        }
        if (scalar->argument < -2 || scalar->argument >= kernel->head.n_arguments) {
            return wrong("no such argument");
        }
        if (is_numpy) {
            scalar->numpy_type = (PyTypeObject *)PyArray_TypeObjectFromType(scalar->type);
            if (scalar->numpy_type == NULL) {
                return -1;
            }
        }
        kernel->n_scalars = i + 1;
    }
    return n < 0 || kernel->n_operands < 1 ? wrong("operands or numbers") : 0;
}

static int read_values(ReduceKernel *kernel, PyObject *bigs, PyObject *smalls, PyObject *results)
{
    kernel->n_bigs = count_of(bigs, REDUCE_BIGS, "too many values");
    for (int i = 0; i < kernel->n_bigs; i++) {
        Big *big = &kernel->bigs[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(bigs, i), "ii", &big->kind, &big->type)) {
            return -1;
        }
        big->itemsize = kernel_itemsize(big->type);
    }
    kernel->n_smalls = count_of(smalls, REDUCE_SMALLS, "too many folded values");
    for (int i = 0; i < kernel->n_smalls; i++) {
        kernel->smalls[i].type = PyLong_AsLong(PyTuple_GET_ITEM(smalls, i));
        kernel->smalls[i].itemsize = kernel_itemsize(kernel->smalls[i].type);
    }
    int n = count_of(results, REDUCE_RESULTS, "too many results");
    for (int i = 0; i < n; i++) {
        Result *result = &kernel->results[i];
        int type;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(results, i), "(ii)ii", &result->place.space,
                              &result->place.index, &result->kind, &type)) {
            return -1;
        }
        result->descr = PyArray_DescrFromType(type);
        if (result->descr == NULL) {
            return -1;
        }
        kernel->n_results = i + 1;
        kernel->keeps_dims = kernel->keeps_dims ||
                             (result->kind == RESULT_KEEPS_DIMS && result->place.space == IN_SMALL);
    }
    if (kernel->n_bigs < 0 || kernel->n_smalls < 0 || n < 1) {
        return wrong("values");
    }
    return PyErr_Occurred() ? -1 : 0;
}

static PyObject *ReduceKernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"fallback", "n_arguments", "n_fallback", "ndim", "axes", "pieces",
                            "operands", "scalars", "bigs", "smalls", "phases", "results",
                            "checks_flags", "warns_here", NULL};
    PyObject *fallback, *axes, *operands, *scalars, *bigs, *smalls, *phases, *results;
    int n_arguments, n_fallback, ndim, n_axes, checks_flags, warns_here;
    Py_ssize_t pieces;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OiiiOnOOOOOOip:ReduceKernel", names, &fallback,
                                     &n_arguments, &n_fallback, &ndim, &axes, &pieces,
                                     &operands, &scalars, &bigs, &smalls, &phases, &results,
                                     &checks_flags, &warns_here)) {
        return NULL;
    }
    n_axes = count_of(axes, REDUCE_DIMS, "axes");
    if (ndim < 1 || ndim > REDUCE_DIMS || n_axes < 1 || pieces < REDUCE_BLOCK) {
        PyErr_SetString(PyExc_ValueError, "ReduceKernel: axes or pieces");
        return NULL;
    }
    ReduceKernel *kernel = (ReduceKernel *)type->tp_alloc(type, 0);
    if (kernel == NULL) {
        return NULL;
    }
    kernel->ndim = ndim;
    kernel->n_axes = n_axes;
    for (int i = 0; i < n_axes; i++) {
        long axis = PyLong_AsLong(PyTuple_GET_ITEM(axes, i));
        if (axis < 0 || axis >= ndim) {
            wrong("axes");
            Py_DECREF(kernel);
            return NULL;
        }
        kernel->folds_axis[axis] = true;
    }
    kernel->trailing = kernel->folds_axis[ndim - 1];
    while (!kernel->folds_axis[kernel->first_axis]) {
        kernel->first_axis++;
    }
    kernel->is_plain = true;
    for (int k = 0; k < n_axes; k++) {
        int axis = kernel->first_axis + k;
        kernel->is_plain = kernel->is_plain && axis < ndim && kernel->folds_axis[axis];
    }
    kernel->pieces = pieces;
    if (kernel_head_init(&kernel->head, ReduceKernel_call, fallback, n_arguments, n_fallback, checks_flags, warns_here) < 0 ||
        read_arguments(kernel, operands, scalars) < 0 || read_values(kernel, bigs, smalls, results) < 0 ||
        read_phases(kernel, phases) < 0) {
        wrong("arguments");
        Py_DECREF(kernel);
        return NULL;
    }
    return (PyObject *)kernel;
}

static int ReduceKernel_traverse(ReduceKernel *self, visitproc visit, void *arg)
{
    Py_VISIT(self->head.fallback);
    for (int i = 0; i < REDUCE_PHASES; i++) {
        Py_VISIT(self->phases[i].big.owner);
        Py_VISIT(self->phases[i].small.owner);
    }
    return 0;
}

static int ReduceKernel_clear(ReduceKernel *self)
{
    Py_CLEAR(self->head.fallback);
    for (int i = 0; i < REDUCE_PHASES; i++) {
        Py_CLEAR(self->phases[i].big.owner);
        Py_CLEAR(self->phases[i].small.owner);
    }
    self->head.off = 1;
    return 0;
}

static void ReduceKernel_dealloc(ReduceKernel *self)
{
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < REDUCE_RESULTS; i++) {
        Py_XDECREF(self->results[i].descr);
    }
    for (int i = 0; i < self->n_scalars; i++) {
        Py_XDECREF(self->scalars[i].numpy_type);
    }
    for (int i = 0; i < REDUCE_OPERANDS; i++) {
        PyMem_Free(self->operands[i].from.code);
    }
    for (int i = 0; i < REDUCE_PHASES; i++) {
        PyMem_Free(self->phases[i].big.loops);
        PyMem_Free(self->phases[i].small.loops);
    }
    ReduceKernel_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject ReduceKernel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.ReduceKernel",
    .tp_doc = "Machine code for the elements of arrays with reductions, as a callable over arrays.",
    .tp_basicsize = sizeof(ReduceKernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = ReduceKernel_new,
    .tp_dealloc = (destructor)ReduceKernel_dealloc,
    .tp_traverse = (traverseproc)ReduceKernel_traverse,
    .tp_clear = (inquiry)ReduceKernel_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(KernelHead, vectorcall),
    .tp_members = bcjit_kernel_members,
};

int bcjit_reduce_init(PyObject *module)
{
    if (PyArray_ImportNumPyAPI() < 0) {
        return -1;
    }
    choose_sums();
    return PyModule_AddType(module, &ReduceKernel_Type);
}
