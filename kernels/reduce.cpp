// Sum, maximum and minimum of rows in two steps: first vectors are combined, then the lanes of the last vector.
#include "loop.h"
#include "stubs/rows.h"

namespace {

constexpr int ways = 8; // accumulators, which hide the latency of one operation

template <typename T, typename Op> VEC_INLINE T reduce_ways(Op op, const Vectorized<T> (&v)[ways])
{
  return vec::reduce_all(op, op(op(op(v[0], v[1]), op(v[2], v[3])), op(op(v[4], v[5]), op(v[6], v[7]))));
}

// Returns whether vectors of 64 bytes are loaded by halves: where rows do not fit the first level cache, so that loads
// per cycle do not matter. From memory two loads per line are faster than one. Reductions do not prefetch, because that
// is slower than the hardware's prefetches. docs/kernels.md has the measurements.
template <typename T> VEC_INLINE bool is_far(size_t rows, size_t columns)
{
  return VECTOR_BYTES == 64 && rows * columns * sizeof(T) > 131072;
}

// Rows are added in pieces of this many vectors per accumulator, and the pieces are added in double precision. So the
// rounding error grows with the piece, not with the row.
constexpr size_t piece_vectors = 64;

template <typename T, typename How> VEC_INLINE double sum_piece(const T *src, size_t n)
{
  Vectorized<T> sums[ways];
  UNROLL for (Vectorized<T> &sum : sums)
    sum = Vectorized<T>(T(0));
  by_vectors<ways, T, How>(n, [&](size_t i, int k, auto how) {
    const Vectorized<T> sum = sums[k] + how.load(src + i, T(0));
    sums[k] = How::ordered ? sum : vec::in_order(sum); // the sum, so that one instruction loads and adds
  });
  return reduce_ways(vec::add<T>, sums);
}

template <typename T, typename How> void sum_rows(double *dst, const T *src, size_t rows, size_t columns)
{
  constexpr size_t piece = piece_vectors * ways * Vectorized<T>::size();
  for (size_t row = 0; row < rows; row++, src += columns) {
    double total = 0;
    for (size_t i = 0; i < columns; i += piece)
      total += sum_piece<T, How>(src + i, columns - i < piece ? columns - i : piece);
    dst[row] = total;
  }
}

template <typename T> void sum(double *dst, const T *src, size_t rows, size_t columns)
{
  is_far<T>(rows, columns) ? sum_rows<T, Halved<T>>(dst, src, rows, columns)
                           : sum_rows<T, Whole<T>>(dst, src, rows, columns);
}

// Adds in 64-bit lanes without a conversion: x + 2^31 is unsigned, so a 64-bit lane is a pair of a low and a high half.
void sum_int32(int64_t *dst, const int32_t *src, size_t rows, size_t columns)
{
  using Vec = Vectorized<uint64_t>;
  const Vec low_half(0xffffffffu);
  for (size_t row = 0; row < rows; row++, src += columns) {
    Vec low(0), high(0);
    by_vectors<1, int32_t>(columns, [&](size_t i, int, auto how) {
      const Vectorized<int32_t> sign(INT32_MIN);
#if VECTOR_BYTES > 0
      const Vec pairs = vec::as<uint64_t>(how.load(src + i, INT32_MIN) ^ sign);
#else
      const Vec pairs(vec::as<uint32_t>(how.load(src + i, INT32_MIN) ^ sign).v);
#endif
      low = low + (pairs & low_half);
      high = high + (pairs >> 32);
    });
    const uint64_t total = vec::reduce_all(vec::add<uint64_t>, low + high);
    dst[row] = static_cast<int64_t>(total - (static_cast<uint64_t>(columns) << 31));
  }
}

// The larger or the smaller; `best` if x is NaN.
template <typename T, bool largest> VEC_INLINE Vectorized<T> pick(Vectorized<T> x, Vectorized<T> best)
{
  return largest ? vec::max_or_second(x, best) : vec::min_or_second(x, best);
}

// NaN is looked for apart from the best: best then waits for one instruction per vector, and one comparison looks at
// two vectors.
template <typename T, bool largest, typename How>
void extremum_of_rows(T *dst, const T *src, size_t rows, size_t columns)
{
  for (size_t row = 0; row < rows; row++, src += columns) {
    const T first = vec::load_one(src); // fills the lanes beyond the row without changing the result
    Vectorized<T> best[ways], even(first);
    UNROLL for (Vectorized<T> &one : best)
      one = Vectorized<T>(first);
    vec::Mask<T> nan[2] = {vec::Mask<T>::first(0), vec::Mask<T>::first(0)};
    by_vectors<ways, T, How>(columns, [&](size_t i, int k, auto how) {
      const Vectorized<T> x = vec::in_order(how.load(src + i, first));
      best[k] = pick<T, largest>(x, best[k]);
      if constexpr (vec::Float<T>::value) {
        if (k % 2 == 0)
          even = x;
        else
          nan[k / 2 % 2] = nan[k / 2 % 2] | unordered(even, x);
      }
    });
    T result = reduce_ways(pick<T, largest>, best);
    if constexpr (vec::Float<T>::value)
      if ((nan[0] | nan[1]).any())
        result = static_cast<T>(__builtin_nan(""));
    vec::store_one(result, dst + row);
  }
}

template <typename T, bool largest> void extremum_by_size(T *dst, const T *src, size_t rows, size_t columns)
{
  is_far<T>(rows, columns) ? extremum_of_rows<T, largest, Halved<T>>(dst, src, rows, columns)
                           : extremum_of_rows<T, largest, Whole<T>>(dst, src, rows, columns);
}

template <typename T> void extremum(T *dst, const T *src, size_t rows, size_t columns, bool largest)
{
  largest ? extremum_by_size<T, true>(dst, src, rows, columns) : extremum_by_size<T, false>(dst, src, rows, columns);
}

} // namespace

ISA_REGISTER_DISPATCH(sum_float_stub, &sum<float>)
ISA_REGISTER_DISPATCH(sum_double_stub, &sum<double>)
ISA_REGISTER_DISPATCH(sum_int32_stub, &sum_int32)
ISA_REGISTER_DISPATCH(extremum_float_stub, &extremum<float>)
ISA_REGISTER_DISPATCH(extremum_double_stub, &extremum<double>)
ISA_REGISTER_DISPATCH(extremum_int32_stub, &extremum<int32_t>)
ISA_REGISTER_DISPATCH(extremum_int8_stub, &extremum<int8_t>)
ISA_REGISTER_DISPATCH(extremum_uint8_stub, &extremum<uint8_t>)
