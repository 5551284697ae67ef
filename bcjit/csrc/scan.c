/* scan.c - ScanKernel: running folds with elementwise work around them as one callable over arrays; it knows no operation.
 *
 * As kernel.c does it: what is not as it was compiled for, and a flag that NumPy's error state does not ignore, are left to
 * `fallback`, the same calls in NumPy. Results are new memory.
 */
#include "scan.h"

#include <string.h>

/* From here on other threads run meanwhile. */
#define WITHOUT_GIL ((npy_intp)1 << 15)

/* ---- shapes ---------------------------------------------------------------------------------- */

/* What one axis of sizes and strides, outermost first, is as one axis; false: it is none. */
static bool merged(const npy_intp *dims, const npy_intp *strides, int n, npy_intp *stride)
{
    npy_intp expected = 0;
    bool any = false;
    *stride = 0;
    for (int axis = n - 1; axis >= 0; axis--) {
        if (dims[axis] == 1) {
            continue;
        }
        if (any && strides[axis] != expected) {
            return false;
        }
        if (!any) {
            *stride = strides[axis];
        }
        expected = strides[axis] * dims[axis];
        any = true;
    }
    return true;
}

static bool common_shape(const ScanKernel *kernel, PyObject *const *args, npy_intp *shape)
{
    for (int axis = 0; axis < kernel->ndim; axis++) {
        shape[axis] = 1;
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        PyArrayObject *array = (PyArrayObject *)args[kernel->operands[i].argument];
        int missing = kernel->ndim - PyArray_NDIM(array);
        if (missing < 0) {
            return false;
        }
        for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
            npy_intp size = PyArray_DIM(array, axis), *to = &shape[missing + axis];
            if (*to == 1) {
                *to = size;
            }
            else if (size != 1 && size != *to) {
                return false;
            }
        }
    }
    return true;
}

/* Whether all arrays lie as Fortran has them, so that results do. */
static bool is_fortran(const ScanKernel *kernel, PyObject *const *args, const npy_intp *shape)
{
    if (kernel->axis < 0 || kernel->ndim < 2) {
        return false;
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        PyArrayObject *array = (PyArrayObject *)args[kernel->operands[i].argument];
        if (PyArray_NDIM(array) != kernel->ndim || !PyArray_IS_F_CONTIGUOUS(array) ||
            PyArray_IS_C_CONTIGUOUS(array) ||
            !PyArray_CompareLists(PyArray_DIMS(array), shape, kernel->ndim)) {
            return false;
        }
    }
    for (int axis = 0; axis < kernel->ndim; axis++) {
        if (shape[axis] == 1) {
            return false;                   /* its place among the others depends on casts */
        }
    }
    return true;
}

/* How an operand lies, along axes in the order of memory; false: not in an order that all share, so that NumPy would go through it
 * otherwise, or not in three steps. */
static bool set_operand(ScanRun *run, int i, PyArrayObject *array, const npy_intp *shape, bool fortran, int first,
                        int behind)
{
    const ScanKernel *kernel = run->kernel;
    ScanArray *operand = &run->operands[i];
    npy_intp strides[KERNEL_DIMS], before = NPY_MAX_INTP;
    int ndim = kernel->ndim, missing = ndim - PyArray_NDIM(array);
    operand->data = PyArray_BYTES(array);
    operand->itemsize = kernel->operands[i].itemsize;
    for (int axis = 0; axis < ndim; axis++) {
        int from = (fortran ? ndim - 1 - axis : axis) - missing;
        npy_intp stride = 0;
        if (from >= 0 && PyArray_DIM(array, from) != 1) {
            stride = PyArray_STRIDE(array, from);
            /* Backwards, some of NumPy's loops go another way, with other last bits. */
            if ((stride < 0 && (ndim > 1 || kernel->has_loops)) || stride > before) {
                return false;
            }
            before = stride == 0 ? before : stride;
        }
        strides[axis] = stride;
    }
    return merged(shape, strides, first, &operand->outer) &&
           merged(shape + first, strides + first, behind - first, &operand->step) &&
           merged(shape + behind, strides + behind, ndim - behind, &operand->inner);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static PyObject *new_result(const ScanKernel *kernel, const ScanResult *result, npy_intp *shape, npy_intp total,
                            bool fortran)
{
    npy_intp reversed[KERNEL_DIMS];
    Py_INCREF(result->descr);
    if (result->flat) {
        return PyArray_NewFromDescr(&PyArray_Type, result->descr, 1, &total, NULL, NULL, 0, NULL);
    }
    for (int axis = 0; axis < kernel->ndim; axis++) {
        reversed[axis] = shape[fortran ? kernel->ndim - 1 - axis : axis];
    }
    return PyArray_NewFromDescr(&PyArray_Type, result->descr, kernel->ndim, reversed, NULL,
                                NULL, fortran ? NPY_ARRAY_F_CONTIGUOUS : 0, NULL);
}

static size_t rounded(npy_intp size)
{
    return ((size_t)size + 63) & ~(size_t)63;
}

/* Memory for a run. With `memory` NULL only its size. */
static size_t place_all(ScanRun *run, char *memory)
{
    const ScanKernel *kernel = run->kernel;
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
        ScanArray *operand = &run->operands[i];
        bool folds_only = !kernel->has_code && (run->inner == 1 || operand->inner == operand->itemsize);
        if (!folds_only) {
            TAKE(operand->buffer, SCAN_BLOCK * operand->itemsize);
        }
    }
    for (int i = 0; i < kernel->n_values; i++) {
        if (!kernel->values[i].is_result) {
            TAKE(run->values[i], SCAN_BLOCK * kernel->values[i].itemsize);
        }
    }
    for (int p = 0; p < kernel->n_phases; p++) {
        for (int k = 0; k < kernel->phases[p].n_scans; k++) {
            TAKE(run->carried[p][k], scan_carried(run, &kernel->phases[p].scans[k]));
        }
    }
#undef TAKE
    return at;
}

static bool read_operands(const ScanKernel *kernel, PyObject *const *args)
{
    for (int i = 0; i < kernel->n_operands; i++) {
        PyArrayObject *array = (PyArrayObject *)args[kernel->operands[i].argument];
        if (Py_TYPE(array) != &PyArray_Type || PyArray_TYPE(array) != kernel->operands[i].type ||
            !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array)) {
            return false;
        }
        /* Copies of what does not lie in one piece lie otherwise than what ufuncs make. */
        if (kernel->copies && !PyArray_IS_C_CONTIGUOUS(array) && !PyArray_IS_F_CONTIGUOUS(array)) {
            return false;
        }
    }
    return true;
}

/* 1 done, 0 not what the kernel is for, -1 an error is set. */
static int compute(const ScanKernel *kernel, PyObject *const *args, PyObject **results)
{
    npy_intp shape[KERNEL_DIMS], ordered[KERNEL_DIMS];
    ScanRun run;
    int ndim = kernel->ndim;
    if (!read_operands(kernel, args) || !common_shape(kernel, args, shape)) {
        return 0;
    }
    for (int i = 0; i < kernel->n_scalars; i++) {
        const KernelScalar *scalar = &kernel->scalars[i];
        if (!store_scalar(run.scalars + i * KERNEL_SCALAR_SIZE, args[scalar->argument], scalar)) {
            return 0;
        }
    }
    bool fortran = is_fortran(kernel, args, shape);
    for (int axis = 0; axis < ndim; axis++) {
        ordered[axis] = shape[fortran ? ndim - 1 - axis : axis];
    }
    int first = kernel->axis < 0 ? 0 : fortran ? ndim - 1 - kernel->axis : kernel->axis;
    int behind = kernel->axis < 0 ? ndim : first + 1;
    run.kernel = kernel;
    run.outer = PyArray_MultiplyList(ordered, first);
    run.length = PyArray_MultiplyList(ordered + first, behind - first);
    run.inner = PyArray_MultiplyList(ordered + behind, ndim - behind);
    npy_intp total = run.outer * run.length * run.inner;
    if (total == 0 || (total == 1 && kernel->has_loops)) {
        return KERNEL_TOO_FEW;              /* of one element NumPy's loops see strides of any size */
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        PyArrayObject *array = (PyArrayObject *)args[kernel->operands[i].argument];
        if (!set_operand(&run, i, array, ordered, fortran, first, behind)) {
            return 0;
        }
    }
    run.flags = 0;
    for (int i = 0; i < kernel->n_results; i++) {
        const ScanResult *result = &kernel->results[i];
        results[i] = new_result(kernel, result, ordered, total, fortran);
        if (results[i] == NULL) {
            return -1;
        }
        run.values[result->value] = PyArray_BYTES((PyArrayObject *)results[i]);
    }
    size_t size = place_all(&run, NULL), got;
    char *memory = scratch_take(size + 64, &got);
    if (memory == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    place_all(&run, (char *)(((npy_uintp)memory + 63) & ~(npy_uintp)63));
    PyThreadState *saved = total < WITHOUT_GIL ? NULL : PyEval_SaveThread();
    scan_run(&run);
    if (saved != NULL) {
        PyEval_RestoreThread(saved);
    }
    scratch_give(memory, got);
    return kernel_outcome(&kernel->head, run.flags);
}

static PyObject *ScanKernel_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    ScanKernel *kernel = (ScanKernel *)self;
    PyObject *results[SCAN_RESULTS] = {NULL};
    if (!kernel_is_asked(&kernel->head, nargsf, kwnames)) {
        return kernel_falls_back(&kernel->head, args, nargsf, kwnames);
    }
    kernel->head.calls++;
    int done = compute(kernel, args, results), n = kernel->n_results;
    return done > 0 ? kernel_results(results, n, 0)
                    : kernel_no_results(&kernel->head, done, results, n, args);
}

/* ---- from Python ----------------------------------------------------------------------------- */

static int wrong(const char *what)
{
    return kernel_is_wrong("ScanKernel", what);
}

static int count_of(PyObject *given, int most, const char *what)
{
    if (!PyTuple_Check(given) || PyTuple_GET_SIZE(given) > most) {
        return wrong(what);
    }
    return (int)PyTuple_GET_SIZE(given);
}

static bool is_source(const ScanKernel *kernel, int i)
{
    return (i >= 0 && i < kernel->n_operands) ||
           (i >= SCAN_OPERANDS && i < SCAN_OPERANDS + kernel->n_values);
}

static int read_code(ScanKernel *kernel, PyObject *given, ScanCode *code)
{
    PyObject *address, *owner, *loops, *operands, *results;
    if (given == Py_None) {
        return 0;
    }
    if (!PyArg_ParseTuple(given, "O!OO!nnnOO", &PyLong_Type, &address, &owner, &PyTuple_Type, &loops,
                          &code->width, &code->block, &code->scratch, &operands, &results)) {
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
    code->owner = Py_NewRef(owner);
    code->n_operands = count_of(operands, SCAN_OPERANDS + SCAN_VALUES, "too many operands");
    code->n_results = count_of(results, SCAN_VALUES, "too many results");
    for (int i = 0; i < code->n_operands; i++) {
        code->operands[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(operands, i));
        if (!is_source(kernel, code->operands[i])) {
            return wrong("no such operand");
        }
    }
    for (int i = 0; i < code->n_results; i++) {
        code->results[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(results, i));
        if (code->results[i] < 0 || code->results[i] >= kernel->n_values) {
            return wrong("no such value");
        }
    }
    code->run = (kernel_run)(npy_uintp)PyLong_AsVoidPtr(address);
    if (PyErr_Occurred() || code->run == NULL || code->width < 1 || code->block < code->width ||
        code->scratch < 0 || code->n_operands < 0 || code->n_results < 1) {
        return wrong("machine code");
    }
    code->scratch = (npy_intp)rounded(code->scratch);
    npy_intp padding = code->width * KERNEL_SCALAR_SIZE * (code->n_operands + code->n_results);
    if (kernel->scratch < code->scratch + padding) {
        kernel->scratch = code->scratch + padding;
    }
    kernel->has_code = true;
    kernel->has_loops = kernel->has_loops || n_loops > 0;
    return 0;
}

static int read_scan(ScanKernel *kernel, PyObject *given, Scan *scan)
{
    PyObject *loop, *data;
    const char *name;
    int kind, clears;
    if (!PyArg_ParseTuple(given, "sCO!O!iip", &name, &kind, &PyLong_Type, &loop, &PyLong_Type, &data, &scan->source,
                          &scan->value, &clears)) {
        return -1;
    }
    if (!is_source(kernel, scan->source) || scan->value < 0 || scan->value >= kernel->n_values) {
        return wrong("no such value");
    }
    scan->itemsize = kernel->values[scan->value].itemsize;
    scan->clears = clears != 0;
    scan->own = scan_find_loop(name, (char)kind, (int)scan->itemsize);
    scan->loop = (PyUFuncGenericFunction)(npy_uintp)PyLong_AsVoidPtr(loop);
    scan->data = PyLong_AsVoidPtr(data);
    return PyErr_Occurred() || scan->loop == NULL ? wrong("no loop") : 0;
}

static int read_phases(ScanKernel *kernel, PyObject *given)
{
    kernel->n_phases = count_of(given, SCAN_PHASES, "too many phases");
    for (int i = 0; i < kernel->n_phases; i++) {
        ScanPhase *phase = &kernel->phases[i];
        PyObject *code, *scans;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(given, i), "OO", &code, &scans) ||
            read_code(kernel, code, &phase->code) < 0) {
            return -1;
        }
        phase->n_scans = count_of(scans, SCAN_SCANS, "too many scans");
        for (int k = 0; k < phase->n_scans; k++) {
            if (read_scan(kernel, PyTuple_GET_ITEM(scans, k), &phase->scans[k]) < 0) {
                return -1;
            }
        }
        if (phase->n_scans < 0) {
            return -1;
        }
    }
    return kernel->n_phases < 1 ? wrong("no phases") : 0;
}

static int read_arguments(ScanKernel *kernel, PyObject *operands, PyObject *scalars)
{
    kernel->n_operands = count_of(operands, SCAN_OPERANDS, "too many operands");
    for (int i = 0; i < kernel->n_operands; i++) {
        ScanOperand *operand = &kernel->operands[i];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(operands, i), "ii", &operand->argument, &operand->type)) {
            return -1;
        }
        operand->itemsize = kernel_itemsize(operand->type);
        if (operand->argument < 0 || operand->argument >= kernel->head.n_arguments) {
            return wrong("no such argument");
        }
    }
    int n = count_of(scalars, KERNEL_SCALARS, "too many numbers");
    for (int i = 0; i < n; i++) {
        KernelScalar *scalar = &kernel->scalars[i];
        int is_numpy;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(scalars, i), "iip", &scalar->argument, &scalar->type, &is_numpy)) {
            return -1;
        }
        if (scalar->argument < 0 || scalar->argument >= kernel->head.n_arguments) {
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

static int read_values(ScanKernel *kernel, PyObject *values, PyObject *results)
{
    kernel->n_values = count_of(values, SCAN_VALUES, "too many values");
    for (int i = 0; i < kernel->n_values; i++) {
        kernel->values[i].type = (int)PyLong_AsLong(PyTuple_GET_ITEM(values, i));
        kernel->values[i].itemsize = kernel_itemsize(kernel->values[i].type);
    }
    int n = count_of(results, SCAN_RESULTS, "too many results");
    for (int i = 0; i < n; i++) {
        ScanResult *result = &kernel->results[i];
        int flat;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(results, i), "ip", &result->value, &flat)) {
            return -1;
        }
        if (result->value < 0 || result->value >= kernel->n_values || kernel->values[result->value].is_result) {
            return wrong("no such value");
        }
        result->flat = flat != 0;
        result->descr = PyArray_DescrFromType(kernel->values[result->value].type);
        if (result->descr == NULL) {
            return -1;
        }
        kernel->values[result->value].is_result = true;
        kernel->n_results = i + 1;
    }
    return kernel->n_values < 0 || n < 1 || PyErr_Occurred() ? wrong("values") : 0;
}

static PyObject *ScanKernel_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"fallback", "n_arguments", "n_fallback", "ndim", "axis", "operands", "scalars", "values",
                            "phases", "results", "checks_flags", "warns_here", "copies", NULL};
    PyObject *fallback, *operands, *scalars, *values, *phases, *results;
    int n_arguments, n_fallback, ndim, axis, checks_flags, warns_here, copies;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OiiiiOOOOOipp:ScanKernel", names, &fallback, &n_arguments,
                                     &n_fallback, &ndim, &axis, &operands, &scalars, &values, &phases, &results,
                                     &checks_flags, &warns_here, &copies)) {
        return NULL;
    }
    if (ndim < 1 || ndim > KERNEL_DIMS || axis < -1 || axis >= ndim) {
        PyErr_SetString(PyExc_ValueError, "ScanKernel: axes");
        return NULL;
    }
    ScanKernel *kernel = (ScanKernel *)type->tp_alloc(type, 0);
    if (kernel == NULL) {
        return NULL;
    }
    kernel->ndim = ndim;
    kernel->axis = axis;
    kernel->copies = copies;
    if (kernel_head_init(&kernel->head, ScanKernel_call, fallback, n_arguments, n_fallback, checks_flags, warns_here) < 0 ||
        read_arguments(kernel, operands, scalars) < 0 || read_values(kernel, values, results) < 0 ||
        read_phases(kernel, phases) < 0) {
        wrong("arguments");
        Py_DECREF(kernel);
        return NULL;
    }
    return (PyObject *)kernel;
}

static int ScanKernel_traverse(ScanKernel *self, visitproc visit, void *arg)
{
    Py_VISIT(self->head.fallback);
    for (int i = 0; i < SCAN_PHASES; i++) {
        Py_VISIT(self->phases[i].code.owner);
    }
    return 0;
}

static int ScanKernel_clear(ScanKernel *self)
{
    Py_CLEAR(self->head.fallback);
    for (int i = 0; i < SCAN_PHASES; i++) {
        Py_CLEAR(self->phases[i].code.owner);
    }
    self->head.off = 1;
    return 0;
}

static void ScanKernel_dealloc(ScanKernel *self)
{
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < SCAN_RESULTS; i++) {
        Py_XDECREF(self->results[i].descr);
    }
    for (int i = 0; i < self->n_scalars; i++) {
        Py_XDECREF(self->scalars[i].numpy_type);
    }
    for (int i = 0; i < SCAN_PHASES; i++) {
        PyMem_Free(self->phases[i].code.loops);
    }
    ScanKernel_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyTypeObject ScanKernel_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "bcjit._core.ScanKernel",
    .tp_doc = "Running folds of arrays with machine code around them, as a callable over arrays.",
    .tp_basicsize = sizeof(ScanKernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = ScanKernel_new,
    .tp_dealloc = (destructor)ScanKernel_dealloc,
    .tp_traverse = (traverseproc)ScanKernel_traverse,
    .tp_clear = (inquiry)ScanKernel_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(KernelHead, vectorcall),
    .tp_members = bcjit_kernel_members,
};

int bcjit_scan_init(PyObject *module)
{
    if (PyArray_ImportNumPyAPI() < 0) {
        return -1;
    }
    return PyModule_AddType(module, &ScanKernel_Type);
}
