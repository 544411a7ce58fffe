// softmax, log_softmax and logsumexp of rows, stable: exp is computed of x - maximum only, which is never positive.
//
// The maximum may ignore NaN, because the sum does not: one NaN makes the sum, and so the whole row, NaN.
#include "loop.h"
#include "stubs/rows.h"

#include <math.h>

namespace {

constexpr int ways = 4;
constexpr size_t piece_vectors = 128; // as in reduce.cpp: pieces are added in double precision

template <typename T> constexpr T infinity = T(__builtin_inf());

template <typename T> VEC_INLINE Vectorized<T> larger_number(Vectorized<T> a, Vectorized<T> b)
{
  return vec::max_or_second(b, a);
}

// Returns the largest element, ignoring NaN; -inf if there is none.
template <typename T> VEC_INLINE T maximum_of(const T *src, size_t n)
{
  const Vectorized<T> lowest(-infinity<T>);
  Vectorized<T> best[ways] = {lowest, lowest, lowest, lowest};
  by_vectors<ways, T>(n, [&](size_t i, int k, auto how) {
    best[k] = larger_number(best[k], how.load(src + i, -infinity<T>));
  });
  return vec::reduce_all(larger_number<T>,
                         larger_number(larger_number(best[0], best[1]), larger_number(best[2], best[3])));
}

// `ahead`: the distance of prefetches in bytes.
template <typename T, bool keep> VEC_INLINE T exp_sum_piece(T *dst, const T *src, size_t n, T m, size_t ahead)
{
  using Vec = Vectorized<T>;
  const Vec maximum(m);
  Vec sums[ways] = {Vec(T(0)), Vec(T(0)), Vec(T(0)), Vec(T(0))};
  by_vectors<ways, T>(n, [&](size_t i, int k, auto how) {
    if (begins_line(k))
      ask_ahead(src + i, ahead);
    const Vec term = vec::exp_of_nonpositive(how.load(src + i, -infinity<T>) - maximum);
    if constexpr (keep)
      how.store(term, dst + i);
    sums[k] = sums[k] + term;
  });
  return vec::reduce_all(vec::add<T>, (sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <typename T, bool keep> VEC_INLINE double exp_sum_of(T *dst, const T *src, size_t n, T m, size_t ahead)
{
  constexpr size_t piece = piece_vectors * ways * Vectorized<T>::size();
  double total = 0;
  for (size_t i = 0; i < n; i += piece)
    total += exp_sum_piece<T, keep>(dst + (keep ? i : 0), src + i, n - i < piece ? n - i : piece, m, ahead);
  return total;
}

template <typename T> double exp_sum(T *dst, const T *src, size_t n, T m)
{
  return dst ? exp_sum_of<T, true>(dst, src, n, m, 4096) : exp_sum_of<T, false>(dst, src, n, m, 4096);
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

// The logarithms of `count` sums of exp(x - maximum): from 1 to the number of columns, or NaN.
constexpr size_t most_rows = 16;
VEC_INLINE void take_logarithms(float (&sums)[most_rows], size_t count)
{
  for (size_t i = 0; i < count; i += static_cast<size_t>(Vectorized<float>::size()))
    vec::log_of_normal(Vectorized<float>::loadu(sums + i)).store(sums + i);
}
VEC_INLINE void take_logarithms(double (&sums)[most_rows], size_t count)
{
  for (size_t i = 0; i < count; i++)
    sums[i] = log(sums[i]);
}

// Calls f(first, count, bytes) for blocks of rows that stay in the first level cache; a block has at least one row, and
// all but the last have `bytes` bytes. Each step of a row waits for the row's maximum or sum. Doing a step for all rows
// of a block hides this latency for all rows but the first.
template <typename T, typename F> VEC_INLINE void by_blocks(size_t rows, size_t columns, size_t cache, F f)
{
  const size_t bytes = columns * sizeof(T);
  const size_t some = bytes * most_rows <= cache ? most_rows : bytes * 2 <= cache ? cache / bytes : 1;
  for (size_t first = 0; first < rows; first += some)
    f(first, rows - first < some ? rows - first : some, some * bytes);
}

template <typename T>
VEC_INLINE void softmax_rows(T *dst, const T *src, size_t rows, size_t columns, bool past_caches)
{
  // Memory past the caches should be written once, so this buffer holds the terms of rows that are short enough.
  constexpr size_t cache = 16384;
  T terms[cache / sizeof(T)], maxima[most_rows], sums[most_rows];
  const bool wait = past_caches && columns <= cache / sizeof(T);
  by_blocks<T>(rows, columns, cache, [&](size_t first, size_t count, size_t block) {
    const T *const from = src + first * columns;
    T *const to = dst + first * columns, *const between = wait ? terms : to;
    for (size_t row = 0; row < count; row++)
      maxima[row] = maximum_of(from + row * columns, columns);
    for (size_t row = 0; row < count; row++)
      sums[row] = static_cast<T>(
          exp_sum_of<T, true>(between + row * columns, from + row * columns, columns, maxima[row], block));
    for (size_t row = 0; row < count; row++)
      rescale_row(to + row * columns, between + row * columns, columns, T(0), T(1) / sums[row], T(0), wait);
  });
}

// Maxima and log(sum(exp(x - maximum))) of all rows; calls then(first, count, maxima, logarithms) for each block.
template <typename T, typename Then>
VEC_INLINE void log_sums(const T *src, size_t rows, size_t columns, Then then)
{
  T maxima[most_rows], logarithms[most_rows] = {};
  by_blocks<T>(rows, columns, 16384, [&](size_t first, size_t count, size_t block) {
    const T *const from = src + first * columns;
    for (size_t row = 0; row < count; row++)
      maxima[row] = maximum_of(from + row * columns, columns);
    for (size_t row = 0; row < count; row++)
      logarithms[row] =
          static_cast<T>(exp_sum_of<T, false>(nullptr, from + row * columns, columns, maxima[row], block));
    take_logarithms(logarithms, count);
    then(first, count, maxima, logarithms);
  });
}

template <typename T>
VEC_INLINE void log_softmax_rows(T *dst, const T *src, size_t rows, size_t columns, bool past_caches)
{
  log_sums(src, rows, columns, [&](size_t first, size_t count, const T *maxima, const T *logarithms) {
    for (size_t row = 0; row < count; row++) {
      const size_t at = (first + row) * columns;
      rescale_row(dst + at, src + at, columns, maxima[row], T(1), logarithms[row], past_caches);
    }
  });
}

template <typename T>
void softmax(T *dst, const T *src, size_t rows, size_t columns, bool logarithm, bool past_caches)
{
  if (logarithm)
    log_softmax_rows(dst, src, rows, columns, past_caches);
  else
    softmax_rows(dst, src, rows, columns, past_caches);
  if (past_caches)
    vec::fence_streams();
}

// For a row whose maximum is not finite: returns a NaN of the row if there is one, else the maximum.
template <typename T> T nan_or(T maximum, const T *src, size_t columns)
{
  for (size_t i = 0; i < columns; i++) {
    const T x = vec::load_one(src + i);
    if (x != x)
      return x;
  }
  return maximum;
}

template <typename T> void logsumexp(T *dst, const T *src, size_t rows, size_t columns)
{
  log_sums(src, rows, columns, [&](size_t first, size_t count, const T *maxima, const T *logarithms) {
    for (size_t row = 0; row < count; row++) {
      const T m = maxima[row];
      const bool finite = m - m == T(0);
      const T result = finite ? m + logarithms[row] : nan_or(m, src + (first + row) * columns, columns);
      vec::store_one(result, dst + first + row);
    }
  });
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
