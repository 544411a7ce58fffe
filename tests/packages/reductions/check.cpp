// Checks the kernels at every level that this machine supports, without Python; prints a line per level.
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "stubs.h"

namespace {

const double nan = NAN, infinity = INFINITY;
int wrong = 0;

void expect(const char *what, double found, double expected, double tolerance)
{
  const bool same = isnan(expected) ? isnan(found)
                                         : found == expected || fabs(found - expected) <= tolerance * (1 + fabs(expected));
  if (!same) {
    printf("%s: %s is %.17g, not %.17g\n", isa_level_name(isa_current_level()), what, found, expected);
    wrong++;
  }
}

// The start of a fixed buffer: nothing here needs a C++ library, which not every platform has at hand.
template <typename T, int which> struct Buffer {
  static T items[150001];
};
template <typename T, int which> T Buffer<T, which>::items[150001];

template <typename T> struct Stubs;
template <> struct Stubs<float> {
  static double mean(const void *p, size_t n, ptrdiff_t s, bool skip) { return mean_float_stub(p, n, s, skip); }
  static double variance(const void *p, size_t n, ptrdiff_t s, bool skip) { return variance_float_stub(p, n, s, skip, 1); }
  static double skew(const void *p, size_t n, ptrdiff_t s, bool skip) { return skew_float_stub(p, n, s, skip); }
  static double kurtosis(const void *p, size_t n, ptrdiff_t s, bool skip) { return kurtosis_float_stub(p, n, s, skip); }
};
template <> struct Stubs<double> {
  static double mean(const void *p, size_t n, ptrdiff_t s, bool skip) { return mean_double_stub(p, n, s, skip); }
  static double variance(const void *p, size_t n, ptrdiff_t s, bool skip) { return variance_double_stub(p, n, s, skip, 1); }
  static double skew(const void *p, size_t n, ptrdiff_t s, bool skip) { return skew_double_stub(p, n, s, skip); }
  static double kurtosis(const void *p, size_t n, ptrdiff_t s, bool skip) { return kurtosis_double_stub(p, n, s, skip); }
};

struct Expected {
  double mean, variance, skew, kurtosis;
};

template <typename T> void compare(const T *first, size_t n, ptrdiff_t stride, bool skipna, const Expected &expected)
{
  expect("mean", Stubs<T>::mean(first, n, stride, skipna), expected.mean, 1e-12);
  expect("variance", Stubs<T>::variance(first, n, stride, skipna), expected.variance, 1e-12);
  expect("skewness", Stubs<T>::skew(first, n, stride, skipna), expected.skew, 1e-10);
  expect("kurtosis", Stubs<T>::kurtosis(first, n, stride, skipna), expected.kurtosis, 1e-10);
}

// What the definitions give, in two plain loops.
template <typename T> Expected defined(const T *values, size_t count)
{
  double n = 0, sum = 0;
  for (size_t i = 0; i < count; i++)
    if (values[i] == values[i]) {
      n++;
      sum += values[i];
    }
  const double mean = sum / n;
  double second = 0, third = 0, fourth = 0;
  for (size_t i = 0; i < count; i++)
    if (values[i] == values[i]) {
      const double distance = values[i] - mean;
      second += distance * distance;
      third += distance * distance * distance;
      fourth += distance * distance * distance * distance;
    }
  const double rest = (n - 2) * (n - 3);
  return {n < 1 ? nan : mean, n < 2 ? nan : second / (n - 1),
          n < 3 ? nan : n * sqrt(n - 1) / (n - 2) * third / pow(second, 1.5),
          n < 4 ? nan : n * (n + 1) * (n - 1) * fourth / (rest * second * second) - 3 * (n - 1) * (n - 1) / rest};
}

template <typename T> void sample(T *values, size_t count)
{
  uint32_t state = 1;
  for (size_t i = 0; i < count; i++) {
    state = state * 1664525u + 1013904223u;
    const double uniform = static_cast<double>(state >> 8) / (1 << 24);
    values[i] = static_cast<T>((state >> 4) % 7 == 0 ? nan : 3 + uniform * uniform);
  }
}

template <typename T> void check()
{
  const ptrdiff_t size = sizeof(T);
  static const size_t sizes[] = {0, 1, 2, 3, 4, 5, 31, 255, 256, 257, 1000, 16384, 16385, 50000};
  T *const values = Buffer<T, 0>::items, *const apart = Buffer<T, 1>::items;
  for (size_t n : sizes) {
    sample(values, n);
    const Expected expected = defined(values, n);
    compare(values, n, size, true, expected);
    for (size_t i = 0; i < 3 * n; i++)
      apart[i] = i % 3 == 0 ? values[i / 3] : T(99);
    compare(apart, n, 3 * size, true, expected);
    if (n > 0)
      compare(apart + 3 * (n - 1), n, -3 * size, true, expected);
  }
  // 0 ... n - 1: known in closed form.
  const size_t count = 40000;
  T *const steps = values;
  for (size_t i = 0; i < count; i++)
    steps[i] = static_cast<T>(i);
  const double n = 40000;
  compare(steps, count, size, false, {(n - 1) / 2, n * (n + 1) / 12, 0, -1.2});
  steps[39999] = static_cast<T>(nan);
  compare(steps, count, size, false, {nan, nan, nan, nan});
  steps[5] = static_cast<T>(infinity);
  compare(steps, count, size, true, {infinity, nan, nan, nan});
  steps[20000] = static_cast<T>(-infinity);
  compare(steps, count, size, true, {nan, nan, nan, nan});
  for (size_t i = 0; i < 20000; i++)
    values[i] = T(0.1);
  compare(values, 20000, size, true, {static_cast<double>(T(0.1)), 0, 0, 0});
}

} // namespace

int main()
{
  while (isa_use_next_level()) {
    const int before = wrong;
    check<float>();
    check<double>();
    printf("%s %s\n", isa_level_name(isa_current_level()), wrong == before ? "right" : "wrong");
  }
  return wrong == 0 ? 0 : 1;
}
