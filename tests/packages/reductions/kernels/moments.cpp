// Variance, skewness and kurtosis, from sums of powers of the distances from the mean.
//
// A chunk is read twice, for its mean and then for the powers. The chunks' sums are joined by the formulas of Pébay
// (2008), which lose no digits where the mean is much larger than the distances. So memory is read once.
#include "blocks.h"

namespace {

// Sums of the second and, where `power` is 3 or 4, higher powers of the distances from the mean of `count` values.
template <int power> struct Moments {
  double count = 0, mean = 0, second = 0, third = 0, fourth = 0;

  void join(const Moments &other)
  {
    const double a = count, b = other.count, n = a + b;
    const double apart = other.mean - mean, step = apart / n, square = apart * step * a * b;
    if constexpr (power == 4)
      fourth += other.fourth + square * step * step * (a * a - a * b + b * b) +
                6 * step * step * (a * a * other.second + b * b * second) + 4 * step * (a * other.third - b * third);
    if constexpr (power >= 3)
      third += other.third + square * step * (a - b) + 3 * step * (a * other.second - b * second);
    second += other.second + square;
    mean += b * step;
    count = n;
  }
};

template <int power> class SecondPass {
public:
  explicit SecondPass(double from) : mean(from) {}
  void add(const double *values) { add(values, mean, firsts, seconds, thirds, fourths); }

  // The distances would add up to 0 if the mean were not rounded: what they add up to corrects mean and powers.
  Moments<power> moments(double count)
  {
    const double off = sum_of_lanes(firsts) / count, second = sum_of_lanes(seconds), third = sum_of_lanes(thirds);
    const double square = off * off, corrected = second - count * square;
    return {count, mean + off, corrected < 0 ? 0 : corrected, third - 3 * off * second + 2 * count * square * off,
            sum_of_lanes(fourths) - 4 * off * third + 6 * square * second - 3 * count * square * square};
  }

private:
  static void add(const double *__restrict values, double mean, double *__restrict firsts, double *__restrict seconds,
                  double *__restrict thirds, double *__restrict fourths)
  {
    for (size_t l = 0; l < lanes; l++) {
      // The mean takes a NaN's place before the subtraction: one after it would depend on a branch for GCC.
      const auto distance = [&](size_t row) {
        const double value = values[row * lanes + l];
        return (value == value ? value : mean) - mean;
      };
      const auto squared = [&](size_t row) { return distance(row) * distance(row); };
      firsts[l] += sum_of<rows>(distance);
      seconds[l] += sum_of<rows>(squared);
      if constexpr (power >= 3)
        thirds[l] += sum_of<rows>([&](size_t row) { return squared(row) * distance(row); });
      if constexpr (power == 4)
        fourths[l] += sum_of<rows>([&](size_t row) { return squared(row) * squared(row); });
    }
  }

  const double mean;
  double firsts[lanes] = {}, seconds[lanes] = {}, thirds[lanes] = {}, fourths[lanes] = {};
};

// Count 0: there is no value, or a NaN and skipna is not set.
template <typename T, int power> INLINE Moments<power> moments_of(const Array &array, bool skipna)
{
  Reader<T> reader(array);
  Moments<power> all;
  const bool valid = by_chunks(array.count, [&](size_t i, size_t size) {
    FirstPass first;
    by_blocks(reader, i, size, first);
    const double here = first.count();
    if (here > 0) {
      SecondPass<power> second(first.sum() / here);
      by_blocks(reader, i, size, second);
      all.join(second.moments(here));
    }
    return skipna || here == static_cast<double>(size);
  });
  return valid ? all : Moments<power>();
}

template <typename T>
double variance(const void *first, size_t count, ptrdiff_t stride, bool skipna, ptrdiff_t ddof)
{
  const Moments<2> all = moments_of<T, 2>({first, count, stride}, skipna);
  const double freedom = all.count - static_cast<double>(ddof);
  return all.count > 0 && freedom > 0 ? all.second / freedom : nan;
}

// A sum that the rounding of the values explains is that of equal values.
template <int power> double or_zero(double sum, const Moments<power> &all, int exponent)
{
  const double error = DBL_EPSILON * all.mean;
  return fabs(sum) < fabs(pow(error, exponent)) * all.count ? 0 : sum;
}

template <typename T> double skew(const void *first, size_t count, ptrdiff_t stride, bool skipna)
{
  const Moments<3> all = moments_of<T, 3>({first, count, stride}, skipna);
  const double n = all.count, second = or_zero(all.second, all, 2), third = or_zero(all.third, all, 3);
  if (n < 3)
    return nan;
  return second == 0 ? 0 : n * sqrt(n - 1) / (n - 2) * (third / (second * sqrt(second)));
}

template <typename T> double kurtosis(const void *first, size_t count, ptrdiff_t stride, bool skipna)
{
  const Moments<4> all = moments_of<T, 4>({first, count, stride}, skipna);
  const double n = all.count, second = or_zero(all.second, all, 2), fourth = or_zero(all.fourth, all, 4);
  if (n < 4)
    return nan;
  const double rest = (n - 2) * (n - 3), divisor = rest * second * second;
  return divisor == 0 ? 0 : n * (n + 1) * (n - 1) * fourth / divisor - 3 * (n - 1) * (n - 1) / rest;
}

} // namespace

ISA_REGISTER_DISPATCH(variance_float_stub, &variance<float>)
ISA_REGISTER_DISPATCH(variance_double_stub, &variance<double>)
ISA_REGISTER_DISPATCH(skew_float_stub, &skew<float>)
ISA_REGISTER_DISPATCH(skew_double_stub, &skew<double>)
ISA_REGISTER_DISPATCH(kurtosis_float_stub, &kurtosis<float>)
ISA_REGISTER_DISPATCH(kurtosis_double_stub, &kurtosis<double>)
