/* scan_loops.c - running folds, one element after the other as NumPy's loops do them; they know no kernel.
 *
 * A row is one chain of operations, each waiting for the one before: four rows go at once. Columns are independent of each other.
 * Nothing here may be compiled with reassociation or contraction of floats.
 */
#include "scan.h"

#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#  define VECTORISED __attribute__((optimize("O3")))
#else
#  define VECTORISED
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#  define WIDE __attribute__((target("avx2")))
#  define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#  define WIDE
#  define HAS_WIDE 0
#endif

typedef struct {
    float re, im;
} Complex64;
typedef struct {
    double re, im;
} Complex128;

#define ADD(to, a, b) ((to) = (a) + (b))
#define MULTIPLY(to, a, b) ((to) = (a) * (b))
/* Not as int, in which a product of two shorts may not fit. */
#define MULTIPLY_UNSIGNED(to, a, b) ((to) = (a) * (1u * (b)))
#define ADD_COMPLEX(to, a, b) ((to).re = (a).re + (b).re, (to).im = (a).im + (b).im)
#define MAXIMUM(to, a, b) ((to) = (a) > (b) ? (a) : (b))
#define MINIMUM(to, a, b) ((to) = (a) < (b) ? (a) : (b))
/* NaN stays; of equal ones the later (zeros have signs). Source: NumPy `loops_minmax.dispatch.c.src`, as x86 compiles it. */
#define MAXIMUM_FLOAT(to, a, b) ((to) = ((a) > (b)) | ((a) != (a)) ? (a) : (b))
#define MINIMUM_FLOAT(to, a, b) ((to) = ((a) < (b)) | ((a) != (a)) ? (a) : (b))
#define AND(to, a, b) ((to) = (npy_bool)((a) && (b)))
#define OR(to, a, b) ((to) = (npy_bool)((a) || (b)))
#define XOR(to, a, b) ((to) = (npy_bool)(!(a) != !(b)))

#define AT(type, data, offset) (*(type *)((data) + (offset)))
#define CAT(type, data, offset) (*(const type *)((data) + (offset)))

/* `held`: what a row is folded in; of what is beyond the type, what is stored forgets. */
#define DEFINE(name, type, held, OP) \
    static void name##_row(char *to, npy_intp to_step, const char *from, npy_intp step, npy_intp n, \
                           const char *before) \
    { \
        held last; \
        npy_intp i = 0; \
        if (before != NULL) { \
            last = CAT(type, before, 0); \
        } \
        else { \
            last = AT(type, to, 0) = CAT(type, from, 0); \
            i = 1; \
        } \
        if (to_step == (npy_intp)sizeof(type) && step == to_step) { \
            for (; i < n; i++) { \
                OP(last, last, ((const type *)from)[i]); \
                ((type *)to)[i] = (type)last; \
            } \
            return; \
        } \
        for (; i < n; i++) { \
            OP(last, last, CAT(type, from, i * step)); \
            AT(type, to, i * to_step) = (type)last; \
        } \
    } \
    static void name##_rows(const ScanPlace *to, const ScanPlace *from, npy_intp n_rows, npy_intp n, \
                            const char *before) \
    { \
        npy_intp row = 0, step = from->step, to_step = to->step; \
        for (; row + 4 <= n_rows; row += 4) { \
            const char *in0 = from->data + row * from->row, *in1 = in0 + from->row; \
            const char *in2 = in1 + from->row, *in3 = in2 + from->row; \
            char *out0 = to->data + row * to->row, *out1 = out0 + to->row; \
            char *out2 = out1 + to->row, *out3 = out2 + to->row; \
            held a = AT(type, out0, 0) = CAT(type, in0, 0), b = AT(type, out1, 0) = CAT(type, in1, 0); \
            held c = AT(type, out2, 0) = CAT(type, in2, 0), d = AT(type, out3, 0) = CAT(type, in3, 0); \
            for (npy_intp i = 1; i < n; i++) { \
                npy_intp at = i * step, out = i * to_step; \
                OP(a, a, CAT(type, in0, at)); \
                OP(b, b, CAT(type, in1, at)); \
                OP(c, c, CAT(type, in2, at)); \
                OP(d, d, CAT(type, in3, at)); \
                AT(type, out0, out) = (type)a; \
                AT(type, out1, out) = (type)b; \
                AT(type, out2, out) = (type)c; \
                AT(type, out3, out) = (type)d; \
            } \
        } \
        for (; row < n_rows; row++) { \
            name##_row(to->data + row * to->row, to_step, from->data + row * from->row, step, n, before); \
        } \
    } \
    VECTORISED static void name##_narrow(char *to, const char *before, const char *from, npy_intp n) \
    { \
        type *restrict out = (type *)to; \
        const type *last = (const type *)before, *in = (const type *)from; \
        for (npy_intp i = 0; i < n; i++) { \
            OP(out[i], last[i], in[i]); \
        } \
    } \
    VECTORISED WIDE static void name##_wide(char *to, const char *before, const char *from, npy_intp n) \
    { \
        type *restrict out = (type *)to; \
        const type *last = (const type *)before, *in = (const type *)from; \
        for (npy_intp i = 0; i < n; i++) { \
            OP(out[i], last[i], in[i]); \
        } \
    }

#define DEFINE_INTEGERS(bits, held, signed_held) \
    DEFINE(add_u##bits, npy_uint##bits, held, ADD) \
    DEFINE(multiply_u##bits, npy_uint##bits, held, MULTIPLY_UNSIGNED) \
    DEFINE(maximum_u##bits, npy_uint##bits, held, MAXIMUM) \
    DEFINE(minimum_u##bits, npy_uint##bits, held, MINIMUM) \
    DEFINE(maximum_i##bits, npy_int##bits, signed_held, MAXIMUM) \
    DEFINE(minimum_i##bits, npy_int##bits, signed_held, MINIMUM)

#define DEFINE_FLOATS(bits) \
    DEFINE(add_f##bits, npy_float##bits, npy_float##bits, ADD) \
    DEFINE(multiply_f##bits, npy_float##bits, npy_float##bits, MULTIPLY) \
    DEFINE(maximum_f##bits, npy_float##bits, npy_float##bits, MAXIMUM_FLOAT) \
    DEFINE(minimum_f##bits, npy_float##bits, npy_float##bits, MINIMUM_FLOAT)

DEFINE_INTEGERS(8, npy_uint32, npy_int32)
DEFINE_INTEGERS(16, npy_uint32, npy_int32)
DEFINE_INTEGERS(32, npy_uint32, npy_int32)
DEFINE_INTEGERS(64, npy_uint64, npy_int64)
DEFINE_FLOATS(32)
DEFINE_FLOATS(64)
DEFINE(add_c64, Complex64, Complex64, ADD_COMPLEX)
DEFINE(add_c128, Complex128, Complex128, ADD_COMPLEX)
DEFINE(and_bool, npy_bool, npy_bool, AND)
DEFINE(or_bool, npy_bool, npy_bool, OR)
DEFINE(xor_bool, npy_bool, npy_bool, XOR)

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(ufunc, kind, size, name) \
    {ufunc, kind, size, name##_rows, name##_narrow}, {ufunc, kind, size, name##_rows, name##_wide}
#define INTEGER_ROWS(bits, size) \
    ROW("add", 'i', size, add_u##bits), ROW("add", 'u', size, add_u##bits), \
    ROW("multiply", 'i', size, multiply_u##bits), ROW("multiply", 'u', size, multiply_u##bits), \
    ROW("maximum", 'i', size, maximum_i##bits), ROW("maximum", 'u', size, maximum_u##bits), \
    ROW("minimum", 'i', size, minimum_i##bits), ROW("minimum", 'u', size, minimum_u##bits)
/* Elsewhere the processor's own instructions order zeros otherwise. */
#if defined(__x86_64__) || defined(_M_X64)
#  define EXTREME_ROWS(bits, size) \
      , ROW("maximum", 'f', size, maximum_f##bits), ROW("minimum", 'f', size, minimum_f##bits)
#else
#  define EXTREME_ROWS(bits, size)
#endif
#define FLOAT_ROWS(bits, size) \
    ROW("add", 'f', size, add_f##bits), ROW("multiply", 'f', size, multiply_f##bits) \
    EXTREME_ROWS(bits, size)

/* By twos: for any processor, and for those with wide vectors. */
static const ScanLoop table[] = {
    INTEGER_ROWS(8, 1), INTEGER_ROWS(16, 2), INTEGER_ROWS(32, 4), INTEGER_ROWS(64, 8),
    FLOAT_ROWS(32, 4), FLOAT_ROWS(64, 8),
    ROW("add", 'c', 8, add_c64), ROW("add", 'c', 16, add_c128),
    ROW("add", 'b', 1, or_bool), ROW("multiply", 'b', 1, and_bool),
    ROW("maximum", 'b', 1, or_bool), ROW("minimum", 'b', 1, and_bool),
    ROW("logical_and", 'b', 1, and_bool), ROW("logical_or", 'b', 1, or_bool),
    ROW("logical_xor", 'b', 1, xor_bool),
};

const ScanLoop *scan_find_loop(const char *name, char kind, int size)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i += 2) {
        if (table[i].kind == kind && table[i].size == size && strcmp(table[i].name, name) == 0) {
            return &table[i + (HAS_WIDE ? 1 : 0)];
        }
    }
    return NULL;
}
