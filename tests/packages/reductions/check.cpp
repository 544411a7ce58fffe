// Checks the kernels at every level that this machine supports, without Python; prints a line per level.
//
// Arrays are static and nothing is thrown, so that no C++ library is needed where a cross compiler has none.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "stubs.h"

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
int wrong = 0;

constexpr size_t most = 50000;
template <typename T> T values[most];
template <typename T> T apart[3 * most];

void expect(const char *what, double found, double expected, double tolerance)
{
  const bool same = std::isnan(expected) ? std::isnan(found)
                                         : found == expected || std::fabs(found - expected) <= tolerance * (1 + std::fabs(expected));
  if (!same) {
    std::printf("%s: %s is %.17g, not %.17g\n", isa_level_name(isa_current_level()), what, found, expected);
    wrong++;
  }
}

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
template <typename T> Expected defined(const T *first, size_t count)
{
  double n = 0, sum = 0;
  for (size_t i = 0; i < count; i++)
    if (first[i] == first[i]) {
      n++;
      sum += first[i];
    }
  const double mean = sum / n;
  double second = 0, third = 0, fourth = 0;
  for (size_t i = 0; i < count; i++)
    if (first[i] == first[i]) {
      const double distance = first[i] - mean;
      second += distance * distance;
      third += distance * distance * distance;
      fourth += distance * distance * distance * distance;
    }
  const double rest = (n - 2) * (n - 3);
  return {n < 1 ? nan : mean, n < 2 ? nan : second / (n - 1),
          n < 3 ? nan : n * std::sqrt(n - 1) / (n - 2) * third / std::pow(second, 1.5),
          n < 4 ? nan : n * (n + 1) * (n - 1) * fourth / (rest * second * second) - 3 * (n - 1) * (n - 1) / rest};
}

template <typename T> void sample(size_t n)
{
  uint32_t state = 1;
  for (size_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    const double uniform = static_cast<double>(state >> 8) / (1 << 24);
    values<T>[i] = static_cast<T>((state >> 4) % 7 == 0 ? nan : 3 + uniform * uniform);
  }
}

template <typename T> void check()
{
  const ptrdiff_t size = sizeof(T);
  T *const first = values<T>, *const spread = apart<T>;
  const size_t counts[] = {0, 1, 2, 3, 4, 5, 31, 255, 256, 257, 1000, 16384, 16385, most};
  for (size_t n : counts) {
    sample<T>(n);
    const Expected expected = defined(first, n);
    compare(first, n, size, true, expected);
    for (size_t i = 0; i < 3 * n; i++)
      spread[i] = i % 3 == 0 ? first[i / 3] : T(99);
    compare(spread, n, 3 * size, true, expected);
    if (n > 0) // backwards
      compare(spread + 3 * (n - 1), n, -3 * size, true, expected);
  }
  // 0 ... n - 1: known in closed form.
  const double n = most;
  for (size_t i = 0; i < most; i++)
    first[i] = static_cast<T>(i);
  compare(first, most, size, false, {(n - 1) / 2, n * (n + 1) / 12, 0, -1.2});
  first[most - 1] = static_cast<T>(nan);
  compare(first, most, size, false, {nan, nan, nan, nan});
  first[5] = static_cast<T>(infinity);
  compare(first, most, size, true, {infinity, nan, nan, nan});
  first[20000] = static_cast<T>(-infinity);
  compare(first, most, size, true, {nan, nan, nan, nan});
  for (size_t i = 0; i < most; i++)
    first[i] = T(0.1);
  compare(first, most, size, true, {static_cast<double>(T(0.1)), 0, 0, 0});
}

} // namespace

int main()
{
  for (int level = 0; level < ISA_LEVEL_COUNT; level++) {
    const isa_level one = static_cast<isa_level>(level);
    if (!isa_level_is_built(one) || !isa_level_is_supported(one))
      continue;
    isa_use_level(one);
    const int before = wrong;
    check<float>();
    check<double>();
    std::printf("%s %s\n", isa_level_name(one), wrong == before ? "right" : "wrong");
  }
  return wrong == 0 ? 0 : 1;
}
