/* kernel.h - the Kernel object: what machine code was compiled for; only kernel.c and its neighbours read it. */
#ifndef BCJIT_KERNEL_H
#define BCJIT_KERNEL_H

#include "core.h"

#ifndef NPY_NO_DEPRECATED_API
#  define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#endif
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

enum { KERNEL_OPERANDS = 32, KERNEL_RESULTS = 8, KERNEL_SCALARS = 32, KERNEL_SCALAR_SIZE = 16 };
/* Arrays that are read at computed places; their places behind the numbers: where each lies, then (size, stride) of its axes. */
enum { KERNEL_TABLES = 4, KERNEL_TABLE_SLOTS = 4, KERNEL_SLOTS = KERNEL_SCALARS + KERNEL_TABLES * KERNEL_TABLE_SLOTS };
/* Elements of a block that is copied for the machine code. */
enum { KERNEL_CHUNK = 1024 };
/* A kernel that NumPy has to do again so often, and in most calls, is not asked any more. */
enum { KERNEL_FALLS_BACK_TOO_OFTEN = 16 };
static inline bool kernel_gives_up(Py_ssize_t fell_back, Py_ssize_t calls)
{
    return fell_back >= KERNEL_FALLS_BACK_TOO_OFTEN && fell_back * 2 > calls;
}
/* What the makers of kernels say of what they are given: -1, with an error. */
static inline int kernel_is_wrong(const char *kind, const char *what)
{
    if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError, "%s: %s", kind, what);
    }
    return -1;
}
static inline npy_intp kernel_itemsize(int type)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    if (descr == NULL) {
        return -1;
    }
    npy_intp size = PyDataType_ELSIZE(descr);
    Py_DECREF(descr);
    return size;
}
/* As bcjit/backends/native/flags.py reads them. */
enum { KERNEL_DIVIDE = 1, KERNEL_OVER = 2, KERNEL_UNDER = 4, KERNEL_INVALID = 8 };

/* Operands and results, side by side; numbers, KERNEL_SCALAR_SIZE bytes apart; NumPy's inner loops, each with its data; how
 * many elements; memory of the machine code's own. */
typedef void (*kernel_run)(char *const *data, const char *scalars, void *const *loops, npy_intp n,
                           char *scratch);

/* Of operands; what has more axes is left to NumPy. */
enum { KERNEL_DIMS = 16 };

typedef struct {
    int argument;
    int type;
    npy_intp itemsize;
    npy_intp *code;                         /* which view of the argument it is: see kernel_views.c */
    Py_ssize_t n_code;                      /* 0: the argument itself */
    char through;                           /* only what the mask selects of it: see kernel_masks.c */
} KernelOperand;

/* Where the elements of an operand lie. */
typedef struct {
    char *data;
    int ndim;
    npy_intp dims[KERNEL_DIMS], strides[KERNEL_DIMS];
    bool is_rolled;                         /* then the first element of each axis is this one, and the last is followed by the first */
    npy_intp firsts[KERNEL_DIMS];
} KernelView;

typedef struct {
    int argument;
    int type;
    PyTypeObject *numpy_type;               /* or NULL: a Python number */
} KernelScalar;

typedef struct {
    PyArray_Descr *descr;
    npy_intp itemsize;
} KernelResult;

/* What all kernels begin with. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *fallback;                     /* the same calls in NumPy */
    int n_arguments, n_fallback;
    char checks_flags;                      /* 2: NumPy does it again wherever the invalid flag is up */
    char warns_here, off;
    Py_ssize_t calls, fell_back;
} KernelHead;

typedef struct {
    KernelHead head;
    kernel_run run;
    PyObject *owner;                        /* of the machine code */
    void **loops;
    int n_operands, n_scalars, n_results, n_loops;
    npy_intp width, block, chunk, scratch;
    npy_intp padding;                       /* bytes for one vector of each operand and result */
    npy_intp sizes[KERNEL_OPERANDS + KERNEL_RESULTS]; /* of elements: operands, then results */
    char layouts;                           /* 1: some of it lies as a copy does, not as what a ufunc makes: operands are of one piece;
                                               2: results lie in C's order if all arguments do */
    char writes;                            /* the last result goes into an array that is there */
    int n_handed;                           /* Nones given back for what is done then: see kernel_writes.c */
    char is_plain;                          /* no views, no writes */
    KernelOperand destination;
    char masked;                            /* it computes what a mask selects, and stores it there */
    KernelOperand mask;
    bool computes_numbers;                  /* of which NumPy may say something where there are no elements, too */
    Py_ssize_t most;                        /* elements of an operand up to which it is asked; 0: of any */
    double pace;                            /* nanoseconds of one thread for an element, as measured last; 0: not yet */
    KernelOperand operands[KERNEL_OPERANDS];
    KernelScalar scalars[KERNEL_SCALARS];
    KernelResult results[KERNEL_RESULTS];
    int n_tables;
    PyTypeObject *array_type;               /* NumPy's */
    KernelOperand tables[KERNEL_TABLES];
    int table_axes[KERNEL_TABLES];
} Kernel;

/* kernel_head.c */
extern PyMemberDef bcjit_kernel_members[];
int kernel_head_init(KernelHead *head, vectorcallfunc call, PyObject *fallback, int n_arguments, int n_fallback,
                     int checks_flags, int warns_here);
static inline bool kernel_is_asked(const KernelHead *head, size_t nargsf, PyObject *kwnames)
{
    return kwnames == NULL && PyVectorcall_NARGS(nargsf) == head->n_arguments && !head->off;
}
/* What is computed, and has raised these flags: 1: it counts; 0: NumPy has something to say; -1: an error is set. */
int kernel_outcome(const KernelHead *head, unsigned int flags);
/* The result, or a tuple of them, with a None for each call that is done; takes the references. One that is NULL has set an error. */
PyObject *kernel_results(PyObject **results, int n, int n_done);
/* There are none or one, of which NumPy may say, or compute, what it does not of more. */
enum { KERNEL_TOO_FEW = -2 };
/* Nothing was computed (done is 0 or KERNEL_TOO_FEW), or an error is set (-1): drops the results, some of which may be NULL, and asks NumPy. */
PyObject *kernel_no_results(KernelHead *head, int done, PyObject **results, int n, PyObject *const *args);
PyObject *kernel_falls_back(const KernelHead *head, PyObject *const *args, size_t nargsf, PyObject *kwnames);

/* Of kernel.c, for its neighbours. */
char *scratch_take(size_t size, size_t *got);
void scratch_give(char *memory, size_t size);
void copy_strided(char *to, const char *from, npy_intp stride, npy_intp n, npy_intp itemsize);
int store_scalar(char *to, PyObject *value, const KernelScalar *scalar);
void bcjit_kernel_side_by_side(const Kernel *kernel, const char *scalars, char *const *data, npy_intp n,
                               char *scratch);
int bcjit_reduce_init(PyObject *module);
int bcjit_scan_init(PyObject *module);

/* kernel_views.c. 1: done; 0: it is not what the kernel is for. */
int bcjit_kernel_view(const KernelOperand *operand, PyObject *const *args, KernelView *view);
/* Writes where the tables lie behind the numbers. */
int bcjit_kernel_tables(const Kernel *kernel, PyObject *const *args, char *scalars);
int bcjit_kernel_read_code(KernelOperand *operand, PyObject *given);
/* Whether NumPy would lay out what is computed of arrays like this one as Fortran has it, by their strides alone. */
bool bcjit_kernel_view_is_fortran(const KernelView *view);

/* kernel_writes.c */
int bcjit_kernel_destination(const Kernel *kernel, PyObject *const *args, KernelView *view);
bool bcjit_kernel_fits(const KernelView *to, int *ndim, npy_intp *shape, bool exactly);
void bcjit_kernel_order(const KernelView *view, int *order);
void bcjit_kernel_store_row(char *to, npy_intp stride, const char *from, npy_intp n,
                            npy_intp itemsize);
void bcjit_kernel_store(const KernelView *to, const char *from, npy_intp itemsize);

/* kernel_masks.c */
int bcjit_masks_init(void);
int bcjit_kernel_masked(Kernel *kernel, PyObject *const *args);

#endif
