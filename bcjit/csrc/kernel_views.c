/* kernel_views.c - operands of a kernel that are views of its arguments: where their elements lie, by NumPy's rules, without an
 * array object. What is not as it was compiled for is left to NumPy. */
#include "kernel.h"

#include <string.h>

/* As bcjit/backends/native/views.py has them. */
enum { BASIC = 0, PERMUTE = 1, BROADCAST = 2, ROLL = 3 };
enum { ALL = 0, NEW = 1, PICK = 2, SLICE = 3, PICK_OF = 4 };
enum { START = 1, STOP = 2, STEP = 4 };

/* Reads a value: a constant, or an argument that is a Python int. */
static int read_value(const npy_intp **code, PyObject *const *args, npy_intp *value)
{
    npy_intp is_argument = *(*code)++, given = *(*code)++;
    if (!is_argument) {
        *value = given;
        return 1;
    }
    PyObject *object = args[given];
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    *value = PyLong_AsSsize_t(object);
    if (*value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

static int take_basic(const npy_intp **code, PyObject *const *args, KernelView *view)
{
    KernelView from = *view;
    int axis = 0, made = 0;
    for (npy_intp n = *(*code)++; n > 0; n--) {
        npy_intp kind = *(*code)++;
        if (kind == NEW) {
            if (made == KERNEL_DIMS) {
                return 0;
            }
            view->dims[made] = 1;
            view->strides[made++] = 0;
            continue;
        }
        bool picks = kind == PICK || kind == PICK_OF;
        if (axis >= from.ndim || (!picks && made == KERNEL_DIMS)) {
            return 0;
        }
        npy_intp size = from.dims[axis], stride = from.strides[axis];
        axis++;
        if (kind == ALL) {
            view->dims[made] = size;
            view->strides[made++] = stride;
        }
        else if (picks) {
            npy_intp at;
            if (!read_value(code, args, &at)) {
                return 0;
            }
            if (kind == PICK_OF && size != *(*code)++) {
                return 0;
            }
            at += at < 0 ? size : 0;
            if (at < 0 || at >= size) {
                return 0;                   /* NumPy says so */
            }
            view->data += at * stride;
        }
        else {
            npy_intp mask = *(*code)++;
            Py_ssize_t start = 0, stop = 0, step = 0;
            if (!read_value(code, args, &start) || !read_value(code, args, &stop) ||
                !read_value(code, args, &step)) {
                return 0;
            }
            step = mask & STEP ? step : 1;
            if (step == 0 || step < -NPY_MAX_INTP) {
                return 0;
            }
            start = mask & START ? start : step < 0 ? PY_SSIZE_T_MAX : 0;
            stop = mask & STOP ? stop : step < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX;
            npy_intp length = PySlice_AdjustIndices(size, &start, &stop, step);
            if (length > 0) {
                view->data += start * stride;
            }
            view->dims[made] = length;
            view->strides[made++] = length > 1 ? stride * step : stride;
        }
    }
    if (axis != from.ndim) {
        return 0;
    }
    view->ndim = made;
    return 1;
}

static int take_permuted(const npy_intp **code, KernelView *view)
{
    KernelView from = *view;
    if (*(*code)++ != from.ndim) {
        return 0;
    }
    for (int axis = 0; axis < from.ndim; axis++) {
        npy_intp old = *(*code)++;
        view->dims[axis] = from.dims[old];
        view->strides[axis] = from.strides[old];
    }
    return 1;
}

static int take_repeated(const npy_intp **code, PyObject *const *args, KernelView *view)
{
    KernelView from = *view;
    int ndim = (int)*(*code)++, missing = ndim - from.ndim;
    if (missing < 0 || ndim > KERNEL_DIMS) {
        return 0;
    }
    for (int axis = 0; axis < ndim; axis++) {
        npy_intp size;
        if (!read_value(code, args, &size) || size < 0) {
            return 0;
        }
        npy_intp old = axis < missing ? 1 : from.dims[axis - missing];
        if (old != size && old != 1) {
            return 0;
        }
        view->dims[axis] = size;
        view->strides[axis] = old == size && axis >= missing ? from.strides[axis - missing] : 0;
    }
    view->ndim = ndim;
    return 1;
}

static int take_rolled(const npy_intp **code, PyObject *const *args, KernelView *view)
{
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->dims[axis] > 1 && view->strides[axis] == 0) {
            return 0;                       /* a copy of what is repeated lies otherwise */
        }
    }
    for (npy_intp n = *(*code)++; n > 0; n--) {
        npy_intp axis = *(*code)++, shift;
        if (!read_value(code, args, &shift) || axis >= view->ndim) {
            return 0;
        }
        npy_intp size = view->dims[axis];
        if (size == 0) {
            return 0;
        }
        if (!view->is_rolled) {
            memset(view->firsts, 0, sizeof(view->firsts));
            view->is_rolled = true;
        }
        npy_intp first = (view->firsts[axis] - shift % size) % size;
        view->firsts[axis] = first < 0 ? first + size : first;
    }
    return 1;
}

int bcjit_kernel_view(const KernelOperand *operand, PyObject *const *args, KernelView *view)
{
    PyArrayObject *array = (PyArrayObject *)args[operand->argument];
    view->ndim = PyArray_NDIM(array);
    if (view->ndim > KERNEL_DIMS) {
        return 0;
    }
    view->data = PyArray_BYTES(array);
    view->is_rolled = false;
    for (int axis = 0; axis < view->ndim; axis++) {
        view->dims[axis] = PyArray_DIM(array, axis);
        view->strides[axis] = PyArray_STRIDE(array, axis);
    }
    const npy_intp *code = operand->code, *end = code + operand->n_code;
    while (code < end) {
        int ok;
        switch (*code++) {
        case BASIC: ok = take_basic(&code, args, view); break;
        case PERMUTE: ok = take_permuted(&code, view); break;
        case ROLL: ok = take_rolled(&code, args, view); break;
        default: ok = take_repeated(&code, args, view); break;
        }
        if (!ok) {
            return 0;
        }
    }
    return 1;
}

int bcjit_kernel_tables(const Kernel *kernel, PyObject *const *args, char *scalars)
{
    for (int i = 0; i < kernel->n_tables; i++) {
        const KernelOperand *table = &kernel->tables[i];
        PyArrayObject *array = (PyArrayObject *)args[table->argument];
        char *slot = scalars + (KERNEL_SCALARS + i * KERNEL_TABLE_SLOTS) * KERNEL_SCALAR_SIZE;
        KernelView view;
        if (Py_TYPE(array) != kernel->array_type || PyArray_TYPE(array) != table->type ||
            !PyArray_ISALIGNED(array) || !PyArray_ISNOTSWAPPED(array) ||
            !bcjit_kernel_view(table, args, &view) || view.is_rolled || view.ndim != kernel->table_axes[i]) {
            return 0;
        }
        memcpy(slot, &view.data, sizeof(view.data));
        for (int axis = 0; axis < view.ndim; axis++) {
            npy_int64 of_axis[2] = {view.dims[axis], view.strides[axis]};
            if (of_axis[0] == 0) {
                return 0;                   /* there is nothing to read */
            }
            slot += KERNEL_SCALAR_SIZE;
            memcpy(slot, of_axis, sizeof(of_axis));
        }
    }
    return 1;
}

/* Reads codes from a tuple of ints; what they say is checked by who makes them. */
int bcjit_kernel_read_code(KernelOperand *operand, PyObject *given)
{
    Py_ssize_t n = PyTuple_GET_SIZE(given);
    operand->code = PyMem_Calloc((size_t)n + 1, sizeof(npy_intp));
    if (operand->code == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        operand->code[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(given, i));
        if (operand->code[i] == -1 && PyErr_Occurred()) {
            return -1;
        }
    }
    operand->n_code = n;
    return 0;
}

bool bcjit_kernel_view_is_fortran(const KernelView *view)
{
    npy_intp before = 0;
    for (int axis = 0; axis < view->ndim; axis++) {
        npy_intp stride = view->strides[axis] < 0 ? -view->strides[axis] : view->strides[axis];
        if (view->dims[axis] < 2 || stride <= before) {
            return false;
        }
        before = stride;
    }
    return view->ndim > 1;
}
