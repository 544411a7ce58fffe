// softmax, log_softmax and logsumexp of rows, stable: exp only of x - maximum, which is never positive.
//
// The maximum passes NaN over, because the sum does not: one NaN makes the sum, and so the whole row, NaN.
#include "loop.h"
#include "stubs/rows.h"

#include <math.h>

namespace {

constexpr int ways = 4;
constexpr size_t piece_vectors = 128; // as in reduce.cpp: pieces are added in double precision

template <typename T> constexpr T infinity = T(__builtin_inf());

template <typename T> VEC_INLINE Vectorized<T> add(Vectorized<T> a, Vectorized<T> b)
{
  return a + b;
}

template <typename T> VEC_INLINE Vectorized<T> larger_number(Vectorized<T> a, Vectorized<T> b)
{
  return vec::max_or_second(b, a);
}

// The largest, NaN passed over; -inf if there is none.
template <typename T> VEC_INLINE T maximum_of(const T *src, size_t n)
{
  const Vectorized<T> lowest(-infinity<T>);
  Vectorized<T> best[ways] = {lowest, lowest, lowest, lowest};
  by_vectors<ways, T>(
      n, [&](size_t i, int k, auto how) { best[k] = larger_number(best[k], how.load(src + i, -infinity<T>)); });
  return vec::reduce_all(larger_number<T>,
                         larger_number(larger_number(best[0], best[1]), larger_number(best[2], best[3])));
}

template <typename T, bool keep> VEC_INLINE T exp_sum_piece(T *dst, const T *src, size_t n, T m)
{
  using Vec = Vectorized<T>;
  const Vec maximum(m);
  Vec sums[ways] = {Vec(T(0)), Vec(T(0)), Vec(T(0)), Vec(T(0))};
  by_vectors<ways, T>(n, [&](size_t i, int k, auto how) {
    const Vec term = vec::exp_of_nonpositive(how.load(src + i, -infinity<T>) - maximum);
    if constexpr (keep)
      how.store(term, dst + i);
    sums[k] = sums[k] + term;
  });
  return vec::reduce_all(add<T>, (sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <typename T, bool keep> VEC_INLINE double exp_sum_of(T *dst, const T *src, size_t n, T m)
{
  constexpr size_t piece = piece_vectors * ways * Vectorized<T>::size();
  double total = 0;
  for (size_t i = 0; i < n; i += piece)
    total += exp_sum_piece<T, keep>(dst + (keep ? i : 0), src + i, n - i < piece ? n - i : piece, m);
  return total;
}

template <typename T> double exp_sum(T *dst, const T *src, size_t n, T m)
{
  return dst ? exp_sum_of<T, true>(dst, src, n, m) : exp_sum_of<T, false>(dst, src, n, m);
}

template <typename T>
VEC_INLINE void rescale_row(T *dst, const T *src, size_t n, T before, T factor, T after, bool past_caches)
{
  using Vec = Vectorized<T>;
  const Vec b(before), f(factor), a(-after);
  writing<T>(dst, n, past_caches,
          [&](size_t i, auto how) { how.store(vec::fmadd(how.load(src + i, T(0)) - b, f, a), dst + i); });
}

template <typename T>
void rescale(T *dst, const T *src, size_t n, T before, T factor, T after, bool past_caches)
{
  rescale_row(dst, src, n, before, factor, after, past_caches);
  if (past_caches)
    vec::fence_streams();
}

VEC_INLINE float logarithm_of(float x)
{
  return logf(x);
}
VEC_INLINE double logarithm_of(double x)
{
  return log(x);
}

template <typename T>
void softmax(T *dst, const T *src, size_t rows, size_t columns, bool logarithm, bool past_caches)
{
  // What goes past the caches must not be written twice: the terms wait here, if the row is short enough.
  constexpr size_t waiting = 16384 / sizeof(T);
  T terms[waiting];
  for (size_t row = 0; row < rows; row++, dst += columns, src += columns) {
    const T m = maximum_of(src, columns);
    if (logarithm) {
      const T sum = static_cast<T>(exp_sum_of<T, false>(dst, src, columns, m));
      rescale_row(dst, src, columns, m, T(1), logarithm_of(sum), past_caches);
    } else {
      T *const between = past_caches && columns <= waiting ? terms : dst;
      const T sum = static_cast<T>(exp_sum_of<T, true>(between, src, columns, m));
      rescale_row(dst, between, columns, T(0), T(1) / sum, T(0), past_caches && between == terms);
    }
  }
  if (past_caches)
    vec::fence_streams();
}

template <typename T> void logsumexp(T *dst, const T *src, size_t rows, size_t columns)
{
  for (size_t row = 0; row < rows; row++, src += columns) {
    const T m = maximum_of(src, columns);
    T result = m; // unless it is finite, or there is a NaN
    if (m - m == T(0)) {
      result = m + logarithm_of(static_cast<T>(exp_sum_of<T, false>(nullptr, src, columns, m)));
    } else {
      for (size_t i = 0; i < columns; i++) {
        const T x = vec::load_one(src + i);
        if (x != x)
          result = x;
      }
    }
    vec::store_one(result, dst + row);
  }
}

} // namespace

ISA_REGISTER_DISPATCH(softmax_float_stub, &softmax<float>)
ISA_REGISTER_DISPATCH(softmax_double_stub, &softmax<double>)
ISA_REGISTER_DISPATCH(logsumexp_float_stub, &logsumexp<float>)
ISA_REGISTER_DISPATCH(logsumexp_double_stub, &logsumexp<double>)
ISA_REGISTER_DISPATCH(exp_sum_float_stub, &exp_sum<float>)
ISA_REGISTER_DISPATCH(exp_sum_double_stub, &exp_sum<double>)
ISA_REGISTER_DISPATCH(rescale_float_stub, &rescale<float>)
ISA_REGISTER_DISPATCH(rescale_double_stub, &rescale<double>)
