/* reduce.h - the ReduceKernel object: machine code for elements, and the folds between. See docs/design/0026. */
#ifndef BCJIT_REDUCE_H
#define BCJIT_REDUCE_H

#include "kernel.h"

enum {
    REDUCE_OPERANDS = 16, REDUCE_BIGS = 24, REDUCE_SMALLS = 48, REDUCE_PHASES = 8, REDUCE_FOLDS = 8,
    REDUCE_RESULTS = 8, REDUCE_DIMS = 8
};
/* Elements that machine code gives at once, before they are folded: they stay in the first-level cache. */
enum { REDUCE_BLOCK = 1024 };
/* Shorter rows are put side by side, where that saves calls of machine code. */
enum { SHORT_ROW = 64 };

/* Where a value of a kernel lies. As bcjit/backends/native/reduce_build.py has them. */
enum { IN_OPERAND, IN_BIG, IN_SMALL, IN_NUMBER };
typedef struct {
    int space, index;
} Place;

/* One compiled program. */
typedef struct {
    kernel_run run;                         /* NULL: none */
    PyObject *owner;
    void **loops;
    npy_intp width, block, scratch;
    int n_operands, n_numbers, n_results;
    Place operands[KERNEL_OPERANDS], numbers[KERNEL_SCALARS], results[KERNEL_OPERANDS];
    bool by_rows;                           /* a number of it differs from row to row */
} Code;

/* How elements are folded. */
enum {
    FOLD_FLOAT64, FOLD_FLOAT32,             /* sums, in the order of NumPy's pairwise tree */
    FOLD_LOOP,                              /* NumPy's inner loop, piece by piece */
    FOLD_WHOLE,                             /* NumPy's inner loop, over all elements at once */
    FOLD_COUNT,                             /* how many bools are true, whose sum is exact in any order */
    FOLD_POSITION                           /* argmax, argmin: NumPy's function over all elements at once */
};

/* Of what is folded: nothing is cast, or what is made for each element is. */
enum { CAST_NONE = -1, CAST_MADE = -2 };

typedef struct {
    int kind;
    Place source;
    int cast_of;                            /* an operand that NumPy casts as it folds it; CAST_MADE; CAST_NONE */
    npy_intp source_size;
    int small;
    PyUFuncGenericFunction loop;
    void *data;
    PyArray_ArgFunc *position;
    bool begins;                            /* with `initial`; else with the first element */
    char initial[KERNEL_SCALAR_SIZE];
    bool unsure;                            /* of which zero or NaN, if not all are folded at once */
    bool clears;                            /* its loop clears the processor's flags */
} Fold;

typedef struct {
    Code big, small;
    int n_folds;
    bool in_parts;                          /* parts of a row can be folded alone */
    bool tree;                              /* some are sums whose order depends on the length */
    bool casts;                             /* some are cast by NumPy */
    bool in_pieces;                         /* some depend on how many elements NumPy folds at a time */
    Fold folds[REDUCE_FOLDS];
} Phase;

/* A value with an element for each element of the arrays. */
enum { BIG_RESULT, BIG_TILE, BIG_BLOCK };
typedef struct {
    int kind;
    int type;
    npy_intp itemsize;
} Big;

typedef struct {
    int type;
    npy_intp itemsize;
    int result;                             /* -1: none */
} Small;

enum { RESULT_ARRAY, RESULT_KEEPS_DIMS, RESULT_SCALAR, RESULT_INT };
typedef struct {
    Place place;
    int kind;
    PyArray_Descr *descr;
} Result;

typedef struct {
    KernelOperand from;
    bool folded;                            /* itself, so that how it lies decides the order of a sum */
} ReduceOperand;

typedef struct {
    KernelHead head;
    int ndim, n_axes;
    bool folds_axis[REDUCE_DIMS], trailing; /* whether the last axis is folded */
    npy_intp pieces;                        /* in which NumPy folds a row */
    int n_operands, n_scalars, n_bigs, n_smalls, n_phases, n_results;
    int first_axis;
    bool is_plain;                          /* no views, and the axes that are folded are neighbours */
    bool has_positions, keeps_dims;         /* results of these kinds */
    bool code_loops;                        /* the machine code calls some of NumPy's */
    bool loops;                             /* some of NumPy's run, whose flags may be those of the older unit */
    double pace;                            /* nanoseconds of one thread for an element, as measured last; 0: not yet */
    ReduceOperand operands[REDUCE_OPERANDS];
    KernelScalar scalars[KERNEL_SCALARS];
    Big bigs[REDUCE_BIGS];
    Small smalls[REDUCE_SMALLS];
    Phase phases[REDUCE_PHASES];
    Result results[REDUCE_RESULTS];
    npy_intp scratch;                       /* of the code that needs most, with what it is padded in */
} ReduceKernel;

/* How an operand lies. Strides of axes that are one axis in it are `outer`, `step` and `inner`. */
typedef struct {
    char *data;
    npy_intp outer, step, inner, itemsize;
    bool outer_merges, step_merges, inner_merges;
    npy_intp strides[REDUCE_DIMS];          /* of all axes, as `dims` has them */
    bool is_rolled;                         /* each of these begins with the element of this index, and goes on with its first */
    npy_intp firsts[REDUCE_DIMS];
    char *buffer;                           /* a block of it */
    const char *filled_from;
    npy_intp filled;
} ReduceArray;

/* One call: `outer` times `reduced` times `inner` elements, of which those in the middle are folded. */
typedef struct {
    const ReduceKernel *kernel;
    npy_intp outer, reduced, inner;
    int n_outer, n_reduced, n_inner;        /* axes of these, in the order of memory */
    npy_intp dims[REDUCE_DIMS];
    npy_intp segment;                       /* folded elements that no other axis divides */
    npy_intp pieces[REDUCE_PHASES];         /* in which NumPy folds these */
    bool gathers[REDUCE_PHASES];            /* some that are folded do not lie side by side */
    bool copies;                            /* operands of short rows have buffers */
    bool apart;                             /* folded elements are not neighbours in results */
    npy_intp result_strides[REDUCE_DIMS];   /* in elements */
    int order[REDUCE_DIMS];                 /* the axes of arrays in the order of memory */
    npy_intp shape[REDUCE_DIMS];
    npy_intp tile;                          /* rows, or columns where the inner elements stay */
    ReduceArray operands[REDUCE_OPERANDS];
    char *bigs[REDUCE_BIGS];
    char *smalls[REDUCE_SMALLS];            /* of the present tile */
    char *small_results[REDUCE_SMALLS];     /* where these lie, NULL: they are the tile's */
    ReduceArray spread[REDUCE_SMALLS];      /* smalls as operands of a block */
    char *scratch;
    unsigned int flags;
    bool unsure;
    char scalars[KERNEL_SCALARS * KERNEL_SCALAR_SIZE];
} ReduceRun;

/* reduce_shapes.c: what the arrays are to a run. 1: done; 0 and KERNEL_TOO_FEW: not what the kernel is for. */
int reduce_set_shapes(ReduceRun *run, PyObject *const *args);
/* Where something is along some axes, the last of which goes fastest, after so many elements. `firsts` may be NULL. */
static inline npy_intp reduce_offset(const npy_intp *dims, const npy_intp *strides, const npy_intp *firsts,
                                     int n, npy_intp at)
{
    npy_intp found = 0;
    for (int axis = n - 1; axis >= 0; axis--) {
        npy_intp here = at % dims[axis] + (firsts == NULL ? 0 : firsts[axis]);
        found += (here < dims[axis] ? here : here - dims[axis]) * strides[axis];
        at /= dims[axis];
    }
    return found;
}

/* What is known of a row so far, for each fold. */
typedef union {
    double float64;
    float float32;
    npy_intp count;
    char bytes[KERNEL_SCALAR_SIZE];
} Partial;

/* reduce_run.c */

/* Some rows or columns of a run go through all phases at once: so many such tiles are there. */
npy_intp reduce_tiles(const ReduceRun *run);
/* Computes tiles [first, last), and notes what flags they raise. */
void reduce_run(ReduceRun *run, npy_intp first, npy_intp last);

/* Rows so long that each phase of one is computed in parts: has a row's values be those that lie for the phases. */
void reduce_begin_row(ReduceRun *run, npy_intp row);
/* Folds n elements of a row, from `start` on, alone. `by_tree`: whether NumPy adds the two halves of more elements. */
void reduce_part(ReduceRun *run, int p, npy_intp row, npy_intp start, npy_intp n, Partial *values);
/* What was folded of some elements with what was folded of those behind them. */
void reduce_join(ReduceRun *run, int p, Partial *values, const Partial *behind);
/* How many elements from `start` on NumPy folds alone. */
npy_intp reduce_next_piece(const ReduceRun *run, int p, npy_intp start);
/* What follows in a phase when all of a row is folded. */
void reduce_end_phase(ReduceRun *run, int p, npy_intp row, const Partial *values);

/* reduce_threads.c: computes all of a large run, by so many threads, each with memory of its own, `size` bytes from `memory` on; `place`
 * says where its values lie there. 1: done; 0: NumPy's loops have something to say; -1: an error is set. */
int reduce_all(ReduceKernel *kernel, ReduceRun *run, char *memory, size_t size, int threads,
               size_t (*place)(ReduceRun *run, char *memory));

/* reduce_sums.c: for this processor, once it was asked. */
extern double (*pairwise_float64)(const double *values, npy_intp n);
extern float (*pairwise_float32)(const float *values, npy_intp n);
extern void (*add_rows_float64)(double *sums, const double *rows, npy_intp n_rows, npy_intp n);
extern void (*add_rows_float32)(float *sums, const float *rows, npy_intp n_rows, npy_intp n);
/* Of some rows, `stride` elements apart. */
extern void (*pairwise_rows_float64)(const double *rows, npy_intp stride, npy_intp n_rows, npy_intp n,
                                     double *sums);
extern void (*pairwise_rows_float32)(const float *rows, npy_intp stride, npy_intp n_rows, npy_intp n,
                                     float *sums);
extern npy_intp (*count_true)(const npy_bool *values, npy_intp n);
void choose_sums(void);

#endif
