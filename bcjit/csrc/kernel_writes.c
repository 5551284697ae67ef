/* kernel_writes.c - the array, or the view of one, into which a kernel stores what it has computed; it computes nothing.
 *
 * All is computed before anything is stored: so it does not matter what shares memory with what, and where NumPy has to do it
 * instead, nothing has happened yet. Only where no flag can matter, and each operand is the very same view or none of its memory, blocks
 * are stored one by one. */
#include "kernel.h"

#include <string.h>

/* Of arrays whose first write NumPy warns of; its headers do not have it. */
#define WARNS_ON_WRITE (1 << 31)

static npy_intp size_of(npy_intp stride)
{
    return stride < 0 ? -stride : stride;
}

/* The axes, those with larger strides first; axes of one element first of all. */
void bcjit_kernel_order(const KernelView *view, int *order)
{
    for (int axis = 0; axis < view->ndim; axis++) {
        int place = axis;
        npy_intp stride = view->dims[axis] > 1 ? size_of(view->strides[axis]) : NPY_MAX_INTP;
        for (; place > 0; place--) {
            int before = order[place - 1];
            npy_intp other = view->dims[before] > 1 ? size_of(view->strides[before]) : NPY_MAX_INTP;
            if (other >= stride) {
                break;
            }
            order[place] = before;
        }
        order[place] = axis;
    }
}

/* Whether two elements of a view may share memory. */
static bool is_folded(const KernelView *view, npy_intp itemsize)
{
    int order[KERNEL_DIMS];
    npy_intp span = itemsize;
    bcjit_kernel_order(view, order);
    for (int axis = view->ndim - 1; axis >= 0; axis--) {
        npy_intp size = view->dims[order[axis]], stride = size_of(view->strides[order[axis]]);
        if (size <= 1) {
            continue;
        }
        if (stride < span) {
            return true;
        }
        span += stride * (size - 1);
    }
    return false;
}

/* 1: done; 0: it is nothing that the kernel can store into. The argument is an array. */
int bcjit_kernel_destination(const Kernel *kernel, PyObject *const *args, KernelView *view)
{
    const KernelOperand *to = &kernel->destination;
    PyArrayObject *array = (PyArrayObject *)args[to->argument];
    if (PyArray_TYPE(array) != to->type || !PyArray_ISALIGNED(array) ||
        !PyArray_ISNOTSWAPPED(array) || !PyArray_ISWRITEABLE(array) ||
        PyArray_CHKFLAGS(array, WARNS_ON_WRITE)) {
        return 0;
    }
    return bcjit_kernel_view(to, args, view) && view->ndim > 0 && !is_folded(view, to->itemsize);
}

/* Whether what has one shape can be stored in a view; the shape becomes the view's. */
bool bcjit_kernel_fits(const KernelView *to, int *ndim, npy_intp *shape, bool exactly)
{
    int missing = to->ndim - *ndim;
    if (missing < 0 || (exactly && missing > 0)) {
        return false;
    }
    for (int axis = 0; axis < *ndim; axis++) {
        if (shape[axis] != to->dims[axis + missing] && (exactly || shape[axis] != 1)) {
            return false;
        }
    }
    memcpy(shape, to->dims, (size_t)to->ndim * sizeof(npy_intp));
    *ndim = to->ndim;
    return true;
}

/* Stores elements that lie side by side as far apart as it is said. */
void bcjit_kernel_store_row(char *to, npy_intp stride, const char *from, npy_intp n,
                            npy_intp itemsize)
{
#define STORE_AS(type) \
    do { \
        const type *in = (const type *)from; \
        for (npy_intp i = 0; i < n; i++, to += stride) { \
            *(type *)to = in[i]; \
        } \
    } while (0)
    if (stride == itemsize) {
        memcpy(to, from, (size_t)(n * itemsize));
        return;
    }
    switch (itemsize) {
    case 1: STORE_AS(npy_uint8); break;
    case 2: STORE_AS(npy_uint16); break;
    case 4: STORE_AS(npy_uint32); break;
    case 8: STORE_AS(npy_uint64); break;
    default:
        for (npy_intp i = 0; i < n; i++, from += itemsize, to += stride) {
            memcpy(to, from, (size_t)itemsize);
        }
    }
#undef STORE_AS
}

/* Stores elements that lie side by side. */
void bcjit_kernel_store(const KernelView *to, const char *from, npy_intp itemsize)
{
    npy_intp at[KERNEL_DIMS] = {0};
    int last = to->ndim - 1;
    npy_intp length = to->dims[last];
    char *row = to->data;
    for (;;) {
        bcjit_kernel_store_row(row, to->strides[last], from, length, itemsize);
        from += length * itemsize;
        int axis = last - 1;
        for (; axis >= 0; axis--) {
            row += to->strides[axis];
            if (++at[axis] < to->dims[axis]) {
                break;
            }
            row -= at[axis] * to->strides[axis];
            at[axis] = 0;
        }
        if (axis < 0) {
            return;
        }
    }
}
