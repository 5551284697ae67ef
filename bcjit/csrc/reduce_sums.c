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

/* Eight accumulators are some vectors of the processor's. */
#if defined(__GNUC__)
#  define VECTOR(type, bytes) type __attribute__((vector_size(bytes)))
#  define ADD(to, value) (to) += (value)
#  define INLINE static inline __attribute__((always_inline))
#else
#  define VECTOR(type, bytes) struct { type at[(bytes) / sizeof(type)]; }
#  define ADD(to, value) \
      for (size_t lane = 0; lane < sizeof(to) / sizeof((to).at[0]); lane++) { (to).at[lane] += (value).at[lane]; }
#  define INLINE static inline
#endif

/* A leaf is one chain of additions for each accumulator: four leaves are added up at once. `name` is of a kind of vectors, `target` what
 * it is compiled for. */
#define DEFINE_PAIRWISE(type, name, bytes, target) \
    typedef VECTOR(type, bytes) name##_vector; \
    enum { name##_VECTORS = LANES * sizeof(type) / (bytes) }; \
    INLINE target void name##_add(name##_vector *sums, const type *values) \
    { \
        for (int k = 0; k < name##_VECTORS; k++) { \
            name##_vector more; \
            memcpy(&more, (const char *)values + k * (bytes), bytes); \
            ADD(sums[k], more); \
        } \
    } \
    INLINE target type name##_ends(const name##_vector *sums, const type *values, npy_intp from, npy_intp n) \
    { \
        type r[LANES]; \
        memcpy(r, sums, sizeof(r)); \
        type sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7])); \
        for (; from < n; from++) { \
            sum += values[from]; \
        } \
        return sum; \
    } \
    INLINE target type name##_rest(name##_vector *sums, const type *values, npy_intp from, npy_intp n) \
    { \
        for (; from < n - n % LANES; from += LANES) { \
            name##_add(sums, values + from); \
        } \
        return name##_ends(sums, values, from, n); \
    } \
    target static type name##_leaf(const type *values, npy_intp n) \
    { \
        name##_vector sums[name##_VECTORS]; \
        memcpy(sums, values, sizeof(sums)); \
        return name##_rest(sums, values, LANES, n); \
    } \
    /* Four leaves, of at least eight elements each. */ \
    target static void name##_leaves(const type *const at[4], const npy_intp n[4], type results[4]) \
    { \
        name##_vector a[name##_VECTORS], b[name##_VECTORS], c[name##_VECTORS], d[name##_VECTORS]; \
        npy_intp shortest = n[0]; \
        for (int k = 1; k < 4; k++) { \
            shortest = n[k] < shortest ? n[k] : shortest; \
        } \
        npy_intp i = LANES, end = shortest - shortest % LANES; \
        memcpy(a, at[0], sizeof(a)); \
        memcpy(b, at[1], sizeof(b)); \
        memcpy(c, at[2], sizeof(c)); \
        memcpy(d, at[3], sizeof(d)); \
        for (; i < end; i += LANES) { \
            name##_add(a, at[0] + i); \
            name##_add(b, at[1] + i); \
            name##_add(c, at[2] + i); \
            name##_add(d, at[3] + i); \
        } \
        results[0] = name##_rest(a, at[0], i, n[0]); \
        results[1] = name##_rest(b, at[1], i, n[1]); \
        results[2] = name##_rest(c, at[2], i, n[2]); \
        results[3] = name##_rest(d, at[3], i, n[3]); \
    } \
    target static type name(const type *values, npy_intp n) \
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
        npy_intp before = half_of(half), behind = half_of(n - half); \
        if (half > LEAF && n - half - behind <= LEAF) { \
            const type *at[4] = {values, values + before, values + half, values + half + behind}; \
            npy_intp sizes[4] = {before, half - before, behind, n - half - behind}; \
            type sums[4]; \
            name##_leaves(at, sizes, sums); \
            return (sums[0] + sums[1]) + (sums[2] + sums[3]); \
        } \
        type left = name(values, half); \
        return left + name(values + half, n - half); \
    } \
    /* Sums of rows. */ \
    target static void name##_each(const type *rows, npy_intp stride, npy_intp n_rows, npy_intp n, type *results) \
    { \
        npy_intp row = 0; \
        for (; n >= LANES && n <= LEAF && row + 4 <= n_rows; row += 4, rows += 4 * stride) { \
            const type *at[4] = {rows, rows + stride, rows + 2 * stride, rows + 3 * stride}; \
            npy_intp sizes[4] = {n, n, n, n}; \
            name##_leaves(at, sizes, results + row); \
        } \
        for (; row < n_rows; row++, rows += stride) { \
            results[row] = name(rows, n); \
        } \
    } \
    /* Rows added to sums one after the other, as a sum over the first axis does. */ \
    target static void name##_some_rows(type *sums, const type *rows, npy_intp n_rows, npy_intp n) \
    { \
        npy_intp i = 0; \
        for (; i + LANES <= n; i += LANES) { \
            name##_vector sum[name##_VECTORS]; \
            memcpy(sum, sums + i, sizeof(sum)); \
            for (npy_intp row = 0; row < n_rows; row++) { \
                name##_add(sum, rows + row * n + i); \
            } \
            memcpy(sums + i, sum, sizeof(sum)); \
        } \
        for (; i < n; i++) { \
            type sum = sums[i]; \
            for (npy_intp row = 0; row < n_rows; row++) { \
                sum += rows[row * n + i]; \
            } \
            sums[i] = sum; \
        } \
    } \
    /* As many rows at once as stay in the cache. */ \
    target static void name##_rows(type *sums, const type *rows, npy_intp n_rows, npy_intp n) \
    { \
        npy_intp step = n < CACHED ? CACHED / n : 1; \
        for (; n_rows > 0; n_rows -= step, rows += step * n) { \
            name##_some_rows(sums, rows, n_rows < step ? n_rows : step, n); \
        } \
    }

DEFINE_PAIRWISE(npy_double, narrow_float64, 16, )
DEFINE_PAIRWISE(npy_float, narrow_float32, 16, )

/* Bools are 0 or 1: sums of eight bytes at once stay below 256 for 255 turns. */
static npy_intp narrow_count(const npy_bool *values, npy_intp n)
{
    npy_intp found = 0, i = 0;
    while (n - i >= 8) {
        npy_uint64 sums[4] = {0}, more[4];
        npy_intp turns = (n - i) / 32;
        turns = turns < 63 ? turns : 63;
        for (npy_intp turn = 0; turn < turns; turn++, i += 32) {
            memcpy(more, values + i, 32);
            for (int k = 0; k < 4; k++) {
                sums[k] += more[k];
            }
        }
        if (turns == 0) {
            memcpy(sums, values + i, 8);
            i += 8;
        }
        npy_uint64 all = sums[0] + sums[1] + sums[2] + sums[3];
        all = (all & 0x00ff00ff00ff00ffu) + ((all >> 8) & 0x00ff00ff00ff00ffu);
        found += (npy_intp)((all * 0x0001000100010001u) >> 48);
    }
    for (; i < n; i++) {
        found += values[i];
    }
    return found;
}

#if defined(__GNUC__) && defined(__x86_64__)
#  define WIDE __attribute__((target("avx2")))
DEFINE_PAIRWISE(npy_double, wide_float64, 32, WIDE)
DEFINE_PAIRWISE(npy_float, wide_float32, 32, WIDE)
#  include <immintrin.h>
WIDE static npy_intp wide_count(const npy_bool *values, npy_intp n)
{
    __m256i sums = _mm256_setzero_si256();
    npy_intp i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i more = _mm256_loadu_si256((const __m256i *)(values + i));
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(more, _mm256_setzero_si256()));
    }
    npy_int64 found[4];
    _mm256_storeu_si256((__m256i *)found, sums);
    npy_intp rest = 0;
    for (; i < n; i++) {                    /* what was just stored in other pieces is read slowly in larger ones */
        rest += values[i];
    }
    return (npy_intp)(found[0] + found[1] + found[2] + found[3]) + rest;
}
#  define HAS_WIDE __builtin_cpu_supports("avx2")
#else
#  define HAS_WIDE 0
#  define wide_float64 narrow_float64
#  define wide_float32 narrow_float32
#  define wide_count narrow_count
#  define wide_float64_each narrow_float64_each
#  define wide_float32_each narrow_float32_each
#  define wide_float64_rows narrow_float64_rows
#  define wide_float32_rows narrow_float32_rows
#endif

double (*pairwise_float64)(const double *, npy_intp) = narrow_float64;
float (*pairwise_float32)(const float *, npy_intp) = narrow_float32;
void (*add_rows_float64)(double *, const double *, npy_intp, npy_intp) = narrow_float64_rows;
void (*add_rows_float32)(float *, const float *, npy_intp, npy_intp) = narrow_float32_rows;

void (*pairwise_rows_float64)(const double *, npy_intp, npy_intp, npy_intp, double *) = narrow_float64_each;
void (*pairwise_rows_float32)(const float *, npy_intp, npy_intp, npy_intp, float *) = narrow_float32_each;
npy_intp (*count_true)(const npy_bool *, npy_intp) = narrow_count;

void choose_sums(void)
{
    if (HAS_WIDE) {
        pairwise_float64 = wide_float64;
        pairwise_float32 = wide_float32;
        pairwise_rows_float64 = wide_float64_each;
        pairwise_rows_float32 = wide_float32_each;
        count_true = wide_count;
        add_rows_float64 = wide_float64_rows;
        add_rows_float32 = wide_float32_rows;
    }
}
