/* scan.h - the ScanKernel object: machine code for elements, and running folds between. See docs/design/0030. */
#ifndef BCJIT_SCAN_H
#define BCJIT_SCAN_H

#include "kernel.h"

enum { SCAN_OPERANDS = 16, SCAN_VALUES = 24, SCAN_PHASES = 8, SCAN_SCANS = 8, SCAN_RESULTS = 8 };
/* Elements that go through all phases at once: they stay in the first-level cache. */
enum { SCAN_BLOCK = 1024 };

/* Where elements are: bytes from one to the next, and from row to row. */
typedef struct {
    char *data;
    npy_intp step, row;
} ScanPlace;

/* Folds `n` elements of each row as they run. With `before` there is one row, which goes on behind that element. */
typedef void (*scan_rows)(const ScanPlace *to, const ScanPlace *from, npy_intp n_rows, npy_intp n,
                          const char *before);
/* to = before op from, of elements that lie side by side. */
typedef void (*scan_columns)(char *to, const char *before, const char *from, npy_intp n);

typedef struct {
    const char *name;
    char kind;
    int size;
    scan_rows rows;
    scan_columns columns;
} ScanLoop;

/* scan_loops.c: the loop of a ufunc for elements of a kind and size, NULL if there is none. */
const ScanLoop *scan_find_loop(const char *name, char kind, int size);

/* One compiled program. Operands are those of the kernel, then, from `SCAN_OPERANDS` on, values. */
typedef struct {
    kernel_run run;                         /* NULL: none */
    PyObject *owner;
    void **loops;
    npy_intp width, block, scratch;
    int n_operands, n_results;
    int operands[SCAN_OPERANDS + SCAN_VALUES], results[SCAN_VALUES];
} ScanCode;

typedef struct {
    const ScanLoop *own;                    /* NULL: NumPy's inner loop does it */
    PyUFuncGenericFunction loop;
    void *data;
    bool clears;                            /* comparing NaN raises a flag that NumPy does not speak of */
    int source, value;
    npy_intp itemsize;
} Scan;

typedef struct {
    ScanCode code;
    int n_scans;
    Scan scans[SCAN_SCANS];
} ScanPhase;

/* A value with an element for each element of the arrays. */
typedef struct {
    int type;
    npy_intp itemsize;
    bool is_result;
} ScanValue;

typedef struct {
    int value;
    bool flat;                              /* of one axis, whatever the operands have */
    PyArray_Descr *descr;
} ScanResult;

typedef struct {
    int argument, type;
    npy_intp itemsize;
} ScanOperand;

typedef struct {
    KernelHead head;
    int ndim;
    int axis;                               /* -1: all elements in C order */
    int n_operands, n_scalars, n_values, n_phases, n_results;
    bool copies, has_code, has_loops;               /* of LLVM's; some of NumPy's are called there */
    ScanOperand operands[SCAN_OPERANDS];
    KernelScalar scalars[KERNEL_SCALARS];
    ScanValue values[SCAN_VALUES];
    ScanPhase phases[SCAN_PHASES];
    ScanResult results[SCAN_RESULTS];
    npy_intp scratch;                       /* of the code that needs most, with what it is padded in */
} ScanKernel;

typedef struct {
    char *data;
    npy_intp outer, step, inner;            /* strides */
    npy_intp itemsize;
    char *buffer;                           /* a block of it */
} ScanArray;

/* One call: `outer` times `length` times `inner` elements; folds run along those in the middle. */
typedef struct {
    const ScanKernel *kernel;
    npy_intp outer, length, inner;
    ScanArray operands[SCAN_OPERANDS];
    char *values[SCAN_VALUES];              /* results, or blocks */
    char *carried[SCAN_PHASES][SCAN_SCANS]; /* the last element, or row of a block */
    char *scratch;
    unsigned int flags;
    char scalars[KERNEL_SCALARS * KERNEL_SCALAR_SIZE];
} ScanRun;

/* scan_run.c: computes all of a run. */
void scan_run(ScanRun *run);
/* Bytes that a run carries from block to block for a scan. */
npy_intp scan_carried(const ScanRun *run, const Scan *scan);

int bcjit_scan_init(PyObject *module);

#endif
