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
/* Elements of a block that is copied for the machine code. */
enum { KERNEL_CHUNK = 1024 };
/* As bcjit/backends/native/flags.py reads them. */
enum { KERNEL_DIVIDE = 1, KERNEL_OVER = 2, KERNEL_UNDER = 4, KERNEL_INVALID = 8 };

/* Operands and results, side by side; numbers, KERNEL_SCALAR_SIZE bytes apart; NumPy's inner loops, each with its data; how
 * many elements; memory of the machine code's own. */
typedef void (*kernel_run)(char *const *data, const char *scalars, void *const *loops, npy_intp n,
                           char *scratch);

typedef struct {
    int argument;
    int type;
    npy_intp itemsize;
} KernelOperand;

typedef struct {
    int argument;
    int type;
    PyTypeObject *numpy_type;               /* or NULL: a Python number */
} KernelScalar;

typedef struct {
    PyArray_Descr *descr;
    npy_intp itemsize;
} KernelResult;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    kernel_run run;
    PyObject *owner;                        /* of the machine code */
    PyObject *fallback;
    void **loops;
    int n_arguments, n_fallback, n_operands, n_scalars, n_results, n_loops;
    npy_intp width, block, chunk, scratch;
    npy_intp padding;                       /* bytes for one vector of each operand and result */
    npy_intp sizes[KERNEL_OPERANDS + KERNEL_RESULTS]; /* of elements: operands, then results */
    char checks_flags;                      /* 2: NumPy does it again wherever the invalid flag is up */
    char warns_here;
    char off;
    Py_ssize_t calls, fell_back;
    double pace;                            /* nanoseconds of one thread for an element, as measured last; 0: not yet */
    KernelOperand operands[KERNEL_OPERANDS];
    KernelScalar scalars[KERNEL_SCALARS];
    KernelResult results[KERNEL_RESULTS];
} Kernel;

#endif
