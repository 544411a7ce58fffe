// The stubs of kernels that work on rows: prefix sums, reductions, softmax.
//
// Arrays are rows x columns elements without gaps; pointers may have any alignment. A kernel runs in the caller's
// thread: ordinary code splits the work (parallel.h) and combines the parts.
//
// `past_caches`: write without keeping the result in the caches, for arrays larger than the caches.
#ifndef ISAGEN_KERNELS_STUBS_ROWS_H
#define ISAGEN_KERNELS_STUBS_ROWS_H

#include "isa_dispatch.h"

#include <stddef.h>
#include <stdint.h>

// dst[r][c] = before + src[r][0] + ... + src[r][c]; integers wrap. src and dst may be the same.
template <typename T>
using cumsum_fn = void (*)(T *dst, const T *src, size_t rows, size_t columns, T before, bool past_caches);
ISA_DECLARE_DISPATCH(cumsum_fn<float>, cumsum_float_stub)
ISA_DECLARE_DISPATCH(cumsum_fn<double>, cumsum_double_stub)
ISA_DECLARE_DISPATCH(cumsum_fn<int32_t>, cumsum_int32_stub)

// dst[r] = src[r][0] + ... + src[r][columns - 1]; 0 for no columns. The order of additions depends on the vector width.
template <typename T, typename Sum> using sum_fn = void (*)(Sum *dst, const T *src, size_t rows, size_t columns);
typedef sum_fn<float, double> sum_float_fn;
typedef sum_fn<double, double> sum_double_fn;
typedef sum_fn<int32_t, int64_t> sum_int32_fn;
ISA_DECLARE_DISPATCH(sum_float_fn, sum_float_stub)
ISA_DECLARE_DISPATCH(sum_double_fn, sum_double_stub)
ISA_DECLARE_DISPATCH(sum_int32_fn, sum_int32_stub)

// dst[r] = the largest element of row r, or the smallest unless `largest`; NaN if the row contains a NaN. Rows must not
// be empty.
template <typename T>
using extremum_fn = void (*)(T *dst, const T *src, size_t rows, size_t columns, bool largest);
ISA_DECLARE_DISPATCH(extremum_fn<float>, extremum_float_stub)
ISA_DECLARE_DISPATCH(extremum_fn<double>, extremum_double_stub)
ISA_DECLARE_DISPATCH(extremum_fn<int32_t>, extremum_int32_stub)
ISA_DECLARE_DISPATCH(extremum_fn<int8_t>, extremum_int8_stub)
ISA_DECLARE_DISPATCH(extremum_fn<uint8_t>, extremum_uint8_stub)

// Reductions along columns, of at most 512 columns, so that the results fit into the first level cache:
// dst[c] = src[0][c] + ... + src[rows - 1][c], or the largest or smallest of these. Rows begin `stride` elements apart.
constexpr size_t most_columns = 512;
template <typename T, typename Sum>
using sum_columns_fn = void (*)(Sum *dst, const T *src, size_t rows, size_t columns, size_t stride);
typedef sum_columns_fn<float, double> sum_columns_float_fn;
typedef sum_columns_fn<double, double> sum_columns_double_fn;
typedef sum_columns_fn<int32_t, int64_t> sum_columns_int32_fn;
ISA_DECLARE_DISPATCH(sum_columns_float_fn, sum_columns_float_stub)
ISA_DECLARE_DISPATCH(sum_columns_double_fn, sum_columns_double_stub)
ISA_DECLARE_DISPATCH(sum_columns_int32_fn, sum_columns_int32_stub)
template <typename T>
using extremum_columns_fn = void (*)(T *dst, const T *src, size_t rows, size_t columns, size_t stride, bool largest);
ISA_DECLARE_DISPATCH(extremum_columns_fn<float>, extremum_columns_float_stub)
ISA_DECLARE_DISPATCH(extremum_columns_fn<double>, extremum_columns_double_stub)
ISA_DECLARE_DISPATCH(extremum_columns_fn<int32_t>, extremum_columns_int32_stub)
ISA_DECLARE_DISPATCH(extremum_columns_fn<int8_t>, extremum_columns_int8_stub)
ISA_DECLARE_DISPATCH(extremum_columns_fn<uint8_t>, extremum_columns_uint8_stub)

// softmax of each row, exp(x - m) / s, or its logarithm, x - m - log(s). m is the row's maximum, s the sum of
// exp(x - m). The result is NaN for a row with a NaN or +inf, and for a row of only -inf. src and dst may be the same.
template <typename T>
using softmax_fn = void (*)(T *dst, const T *src, size_t rows, size_t columns, bool logarithm, bool past_caches);
ISA_DECLARE_DISPATCH(softmax_fn<float>, softmax_float_stub)
ISA_DECLARE_DISPATCH(softmax_fn<double>, softmax_double_stub)

// dst[r] = log(exp(src[r][0]) + ...), without overflow; -inf for no columns.
template <typename T> using logsumexp_fn = void (*)(T *dst, const T *src, size_t rows, size_t columns);
ISA_DECLARE_DISPATCH(logsumexp_fn<float>, logsumexp_float_stub)
ISA_DECLARE_DISPATCH(logsumexp_fn<double>, logsumexp_double_stub)

// The first step of softmax and logsumexp on a part of a row: returns the sum of exp(src[i] - m), and writes its terms
// to dst unless dst is null. m is not NaN, and no src[i] is larger than m.
template <typename T> using exp_sum_fn = double (*)(T *dst, const T *src, size_t n, T m);
ISA_DECLARE_DISPATCH(exp_sum_fn<float>, exp_sum_float_stub)
ISA_DECLARE_DISPATCH(exp_sum_fn<double>, exp_sum_double_stub)

// The second step of softmax on a part of a row: dst[i] = (src[i] - before) * factor - after.
template <typename T>
using rescale_fn = void (*)(T *dst, const T *src, size_t n, T before, T factor, T after, bool past_caches);
ISA_DECLARE_DISPATCH(rescale_fn<float>, rescale_float_stub)
ISA_DECLARE_DISPATCH(rescale_fn<double>, rescale_double_stub)

#endif
