// Sum, maximum and minimum of rows in two steps: first vectors are combined, then the lanes of the last vector.
#include "loop.h"
#include "stubs/rows.h"

namespace {

constexpr int ways = 8; // accumulators, which hide the latency of one operation

template <typename T, typename Op> VEC_INLINE T reduce_ways(Op op, const Vectorized<T> (&v)[ways])
{
  return vec::reduce_all(op, op(op(op(v[0], v[1]), op(v[2], v[3])), op(op(v[4], v[5]), op(v[6], v[7]))));
}

// Rows are added in pieces of this many vectors per accumulator, and the pieces are added in double precision. So the
// rounding error grows with the piece, not with the row.
constexpr size_t piece_vectors = 64;

template <typename T> double sum_piece(const T *src, size_t n)
{
  Vectorized<T> sums[ways];
  for (Vectorized<T> &sum : sums)
    sum = Vectorized<T>(T(0));
  by_vectors<ways, T>(n, [&](size_t i, int k, auto how) {
    if (begins_line(k))
      ask_ahead(src + i);
    sums[k] = sums[k] + how.load(src + i, T(0));
  });
  return reduce_ways(vec::add<T>, sums);
}

template <typename T> void sum(double *dst, const T *src, size_t rows, size_t columns)
{
  constexpr size_t piece = piece_vectors * ways * Vectorized<T>::size();
  for (size_t row = 0; row < rows; row++, src += columns) {
    double total = 0;
    for (size_t i = 0; i < columns; i += piece)
      total += sum_piece(src + i, columns - i < piece ? columns - i : piece);
    dst[row] = total;
  }
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

template <typename T, bool largest> VEC_INLINE Vectorized<T> pick(Vectorized<T> a, Vectorized<T> b)
{
  return largest ? vec::maximum(a, b) : vec::minimum(a, b);
}

template <typename T, bool largest> void extremum_of_rows(T *dst, const T *src, size_t rows, size_t columns)
{
  for (size_t row = 0; row < rows; row++, src += columns) {
    const T first = vec::load_one(src); // fills the lanes beyond the row without changing the result
    Vectorized<T> best[ways];
    for (Vectorized<T> &one : best)
      one = Vectorized<T>(first);
    by_vectors<ways, T>(columns, [&](size_t i, int k, auto how) {
      if (begins_line(k))
        ask_ahead(src + i);
      best[k] = pick<T, largest>(best[k], how.load(src + i, first));
    });
    vec::store_one(reduce_ways(pick<T, largest>, best), dst + row);
  }
}

template <typename T> void extremum(T *dst, const T *src, size_t rows, size_t columns, bool largest)
{
  largest ? extremum_of_rows<T, true>(dst, src, rows, columns) : extremum_of_rows<T, false>(dst, src, rows, columns);
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
