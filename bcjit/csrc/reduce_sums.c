/* reduce_sums.c - sums in NumPy's order; they know no kernel.
 *
 * The order is that of numpy/_core/src/umath/loops_utils.h.src, `pairwise_sum`: halves of a multiple of eight down to 128 elements,
 * which eight accumulators take in turns. Nothing here may be compiled with reassociation of floats.
 */
#include "reduce.h"

#include <string.h>

enum { LEAF = 128, LANES = 8, CACHED = 2048 };

static inline npy_intp half_of(npy_intp n)
{
    npy_intp half = n / 2;
    return half - half % LANES;
}

#if defined(__GNUC__)
#  define DEFINE_LANES(type, lanes) typedef type lanes __attribute__((vector_size(LANES * sizeof(type))));
#  define LOAD(lanes, to, from) memcpy(&(to), from, sizeof(lanes))
#  define ADD(to, value) (to) += (value)
#else
#  define DEFINE_LANES(type, lanes) typedef struct { type at[LANES]; } lanes;
#  define LOAD(lanes, to, from) memcpy(&(to), from, sizeof(lanes))
#  define ADD(to, value) \
      for (int lane = 0; lane < LANES; lane++) { (to).at[lane] += (value).at[lane]; }
#endif

/* Two leaves at once: each is one chain of additions. */
#define DEFINE_PAIRWISE(type, name) \
    DEFINE_LANES(type, name##_lanes) \
    static inline type name##_ends(const name##_lanes *sums, const type *values, npy_intp from, npy_intp n) \
    { \
        type r[LANES]; \
        memcpy(r, sums, sizeof(r)); \
        type sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \
        for (; from < n; from++) { \
            sum += values[from]; \
        } \
        return sum; \
    } \
    static type name##_leaf(const type *values, npy_intp n) \
    { \
        name##_lanes sums, more; \
        npy_intp i = LANES; \
        LOAD(name##_lanes, sums, values); \
        for (; i < n - n % LANES; i += LANES) { \
            LOAD(name##_lanes, more, values + i); \
            ADD(sums, more); \
        } \
        return name##_ends(&sums, values, i, n); \
    } \
    static type name##_leaves(const type *one, npy_intp n_one, const type *other, npy_intp n_other) \
    { \
        name##_lanes sums, others, more; \
        npy_intp both = n_one < n_other ? n_one : n_other, i = LANES; \
        LOAD(name##_lanes, sums, one); \
        LOAD(name##_lanes, others, other); \
        for (; i < both - both % LANES; i += LANES) { \
            LOAD(name##_lanes, more, one + i); \
            ADD(sums, more); \
            LOAD(name##_lanes, more, other + i); \
            ADD(others, more); \
        } \
        npy_intp rest = i; \
        for (; rest < n_one - n_one % LANES; rest += LANES) { \
            LOAD(name##_lanes, more, one + rest); \
            ADD(sums, more); \
        } \
        type sum = name##_ends(&sums, one, rest, n_one); \
        for (; i < n_other - n_other % LANES; i += LANES) { \
            LOAD(name##_lanes, more, other + i); \
            ADD(others, more); \
        } \
        return sum + name##_ends(&others, other, i, n_other); \
    } \
    type name(const type *values, npy_intp n) \
    { \
        if (n < LANES) { \
            type sum = (type)-0.0; \
            for (npy_intp i = 0; i < n; i++) { \
                sum += values[i]; \
            } \
            return sum; \
        } \
        if (n <= LEAF) { \
            return name##_leaf(values, n); \
        } \
        npy_intp half = half_of(n); \
        if (n - half <= LEAF) { \
            return name##_leaves(values, half, values + half, n - half); \
        } \
        type left = name(values, half); \
        return left + name(values + half, n - half); \
    }

DEFINE_PAIRWISE(npy_double, pairwise_float64)
DEFINE_PAIRWISE(npy_float, pairwise_float32)

/* Bools are 0 or 1: sums of eight bytes at once stay below 256 for 255 turns. */
npy_intp count_true(const npy_bool *values, npy_intp n)
{
    npy_intp found = 0, i = 0;
    while (n - i >= 8) {
        npy_uint64 sums = 0, more;
        npy_intp turns = (n - i) / 8;
        for (npy_intp turn = 0; turn < (turns < 255 ? turns : 255); turn++, i += 8) {
            memcpy(&more, values + i, 8);
            sums += more;
        }
        sums = (sums & 0x00ff00ff00ff00ffu) + ((sums >> 8) & 0x00ff00ff00ff00ffu);
        found += (npy_intp)((sums * 0x0001000100010001u) >> 48);
    }
    for (; i < n; i++) {
        found += values[i];
    }
    return found;
}

/* Rows added to sums one after the other, as a sum over the first axis does; as many at once as stay in the cache. */
#define DEFINE_ADD_ROWS(type, lanes, name) \
    static void name##_some(type *sums, const type *rows, npy_intp n_rows, npy_intp n) \
    { \
        npy_intp i = 0; \
        for (; i + LANES <= n; i += LANES) { \
            lanes sum, more; \
            LOAD(lanes, sum, sums + i); \
            for (npy_intp row = 0; row < n_rows; row++) { \
                LOAD(lanes, more, rows + row * n + i); \
                ADD(sum, more); \
            } \
            memcpy(sums + i, &sum, sizeof(sum)); \
        } \
        for (; i < n; i++) { \
            type sum = sums[i]; \
            for (npy_intp row = 0; row < n_rows; row++) { \
                sum += rows[row * n + i]; \
            } \
            sums[i] = sum; \
        } \
    } \
    void name(type *sums, const type *rows, npy_intp n_rows, npy_intp n) \
    { \
        npy_intp step = n < CACHED ? CACHED / n : 1; \
        for (; n_rows > 0; n_rows -= step, rows += step * n) { \
            name##_some(sums, rows, n_rows < step ? n_rows : step, n); \
        } \
    }

DEFINE_ADD_ROWS(npy_double, pairwise_float64_lanes, add_rows_float64)
DEFINE_ADD_ROWS(npy_float, pairwise_float32_lanes, add_rows_float32)
