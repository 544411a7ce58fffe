// The reference kernels at every level that this CPU supports, against plain loops in higher precision.
//
// Bounds are those of tests/kernels: test_rows.py and tests/support/matmul_reference.py derive them.
#include "stubs/channels.h"
#include "stubs/convert.h"
#include "stubs/level.h"
#include "stubs/matmul.h"
#include "stubs/rows.h"

#include <algorithm>
#include <math.h>
#include <random>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

ISA_DEFINE_DISPATCH(shuffle_rows_stub)
ISA_DEFINE_DISPATCH(shuffle_pixels_stub)
ISA_DEFINE_DISPATCH(interleave_pixels_stub)
ISA_DEFINE_DISPATCH(cvt_fp32_to_bf16_stub)
ISA_DEFINE_DISPATCH(cvt_fp32_to_fp16_stub)
ISA_DEFINE_DISPATCH(cvt_bf16_to_fp32_stub)
ISA_DEFINE_DISPATCH(cvt_fp16_to_fp32_stub)
ISA_DEFINE_DISPATCH(vector_size_stub)
ISA_DEFINE_DISPATCH(level_name_stub)
ISA_DEFINE_DISPATCH(matmul_u8s8_stub)
ISA_DEFINE_DISPATCH(matmul_bf16_stub)
ISA_DEFINE_DISPATCH(matmul_fp16_stub)
#define OF_FLOATS(type) \
  ISA_DEFINE_DISPATCH(cumsum_##type##_stub) \
  ISA_DEFINE_DISPATCH(softmax_##type##_stub) \
  ISA_DEFINE_DISPATCH(logsumexp_##type##_stub) \
  ISA_DEFINE_DISPATCH(exp_sum_##type##_stub) \
  ISA_DEFINE_DISPATCH(rescale_##type##_stub)
#define OF_SUMS(type) \
  ISA_DEFINE_DISPATCH(sum_##type##_stub) \
  ISA_DEFINE_DISPATCH(sum_columns_##type##_stub)
#define OF_EXTREMES(type) \
  ISA_DEFINE_DISPATCH(extremum_##type##_stub) \
  ISA_DEFINE_DISPATCH(extremum_columns_##type##_stub)
OF_FLOATS(float)
OF_FLOATS(double)
ISA_DEFINE_DISPATCH(cumsum_int32_stub)
OF_SUMS(float)
OF_SUMS(double)
OF_SUMS(int32)
OF_EXTREMES(float)
OF_EXTREMES(double)
OF_EXTREMES(int32)
OF_EXTREMES(int8)
OF_EXTREMES(uint8)

namespace {

typedef long double wide;
std::mt19937 generator;
long failures;
double lanes; // floats per vector

void expect(bool right, const char *what, size_t where)
{
  if (!right && ++failures < 20)
    printf("%s: %s is wrong at %zu\n", isa_level_name(isa_current_level()), what, where);
}

void near(wide got, wide want, wide bound, const char *what, size_t where)
{
  expect(isnan(want) ? isnan(got) : got == want || fabsl(got - want) <= bound * 1.01L, what, where);
}

// expl() and logl() of glibc have an instruction (mffsl) that qemu's POWER8 lacks. Elsewhere, `wide` is emulated twice:
// by functions, and these by qemu. So it divides once, and takes the terms that matter for |x| <= 32.
wide exp_of(wide x)
{
  static const wide inverse[] = {1, 1 / 2.L, 1 / 3.L, 1 / 4.L, 1 / 5.L, 1 / 6.L, 1 / 7.L, 1 / 8.L, 1 / 9.L, 1 / 10.L,
                                 1 / 11.L, 1 / 12.L, 1 / 13.L, 1 / 14.L, 1 / 15.L, 1 / 16.L, 1 / 17.L, 1 / 18.L};
  wide term = 1, sum = 1;
  x /= 64;
  for (wide one : inverse)
    sum += term *= x * one;
  for (int i = 0; i < 6; i++)
    sum *= sum;
  return sum;
}

wide log_of(wide x)
{
  const wide near = log(double(x));
  return near + (x * exp_of(-near) - 1);
}

// Floats are below 16, with all digits that a double has.
template <typename T> std::vector<T> numbers(size_t n)
{
  const auto any = [] { return (double(int32_t(generator())) + double(generator()) * 0x1p-32) * 0x1p-27; };
  std::vector<T> found(n);
  for (T &one : found)
    one = sizeof(T) == 1 || T(0.5) == 0 ? T(generator()) : T(any());
  return found;
}

uint32_t bits_of(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
float float_of(uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
wide half(uint16_t bits)
{
  const int exponent = bits >> 10 & 31, top = bits & 1023;
  const wide size = exponent == 31 ? (top ? NAN : INFINITY) : exponent ? ldexpl(1024 + top, exponent - 25) : ldexpl(top, -24);
  return bits & 0x8000 ? -size : size;
}

uint16_t to_bf16(uint32_t x)
{
  return uint16_t((x & 0x7fffffff) > 0x7f800000 ? (x | 0x400000) >> 16 : (uint64_t(x) + 0x7fff + (x >> 16 & 1)) >> 16);
}
uint16_t to_fp16(uint32_t x)
{
  const uint32_t sign = x >> 16 & 0x8000, size = x & 0x7fffffff;
  if (size > 0x7f800000)
    return uint16_t(sign | 0x7e00 | (x >> 13 & 0x3ff));
  if (size >= 0x477ff000)
    return uint16_t(sign | 0x7c00);
  if (size < 0x38800000) // denormal: a multiple of 2^-24; this addition rounds to nearest even
    return uint16_t(sign | (bits_of(float_of(size) + 0.5f) - 0x3f000000));
  return uint16_t(sign | ((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13));
}

void check_conversions()
{
  std::vector<float> x;
  for (uint32_t low : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
    for (uint32_t high = generator() % 3; high < 0x10000; high += 3)
      x.push_back(float_of(high << 16 | low));
  for (size_t n : {x.size(), size_t(1), size_t(7), size_t(45)}) {
    std::vector<uint16_t> bf16(n + 1, 7), fp16(n + 1, 7);
    cvt_fp32_to_bf16_stub(bf16.data(), x.data(), n, false);
    cvt_fp32_to_fp16_stub(fp16.data(), x.data(), n, true);
    for (size_t i = 0; i < n; i++) {
      expect(bf16[i] == to_bf16(bits_of(x[i])), "cvt_fp32_to_bf16", i);
      expect(fp16[i] == to_fp16(bits_of(x[i])), "cvt_fp32_to_fp16", i);
    }
    expect(bf16[n] == 7 && fp16[n] == 7, "the end of a conversion", n);
  }
  std::vector<uint16_t> all(0x10000);
  for (size_t i = 0; i < all.size(); i++)
    all[i] = uint16_t(i);
  std::vector<float> from_bf16(all.size()), from_fp16(all.size());
  cvt_bf16_to_fp32_stub(from_bf16.data(), all.data(), all.size(), false);
  cvt_fp16_to_fp32_stub(from_fp16.data(), all.data(), all.size(), false);
  for (uint32_t i = 0; i < all.size(); i++) {
    expect(bits_of(from_bf16[i]) == i << 16, "cvt_bf16_to_fp32", i);
    const bool nan = (i & 0x7fff) > 0x7c00;
    const uint32_t want = nan ? (i & 0x8000) << 16 | 0x7fc00000 | (i & 0x3ff) << 13 : bits_of(float(half(uint16_t(i))));
    expect(bits_of(from_fp16[i]) == want, "cvt_fp16_to_fp32", i);
  }
}

// The roundings of a sum of n terms, as in test_rows.py.
double roundings(size_t n, double width, double ways, double piece)
{
  return std::min(floor(double(n) / (ways * width)), piece) + ways + log2(ways * width) + 1;
}

template <typename T> void check_floats_of(size_t n, cumsum_fn<T> cumsum, sum_fn<T, double> sum, softmax_fn<T> softmax,
                                           logsumexp_fn<T> logsumexp, exp_sum_fn<T> exp_sum, rescale_fn<T> rescale)
{
  const wide u = ldexpl(1, sizeof(T) == 4 ? -24 : -53), tiny = sizeof(T) == 4 ? 0x1p-149L : 0x1p-1074L;
  const double width = std::max(1.0, lanes * 4 / sizeof(T));
  const size_t rows = 3;
  std::vector<T> x = numbers<T>(rows * n), sums(rows * n + 1, T(7)), soft = sums, logs = sums, scaled(n), terms(n);
  std::vector<wide> exp(n);
  double total[rows];
  T log_sum[rows];
  const bool special = n > 2 && n % 2;
  if (special)
    x[n - 1] = T(NAN);
  cumsum(sums.data(), x.data(), rows, n, T(0), n % 3 == 0);
  sum(total, x.data(), rows, n);
  softmax(soft.data(), x.data(), rows, n, false, n % 3 == 0);
  softmax(logs.data(), x.data(), rows, n, true, false);
  logsumexp(log_sum, x.data(), rows, n);
  expect(sums[rows * n] == 7 && soft[rows * n] == 7 && logs[rows * n] == 7, "the end of rows", n);
  const double scan = ceil(double(n) / width) + log2(width) + 1;
  for (size_t row = 0; row < rows; row++) {
    const T *const of = x.data() + row * n;
    wide running = 0, sizes = 0, largest = -INFINITY, exps = 0;
    for (size_t i = 0; i < n; i++) {
      running += of[i], sizes += fabsl(of[i]);
      near(sums[row * n + i], running, sizes * scan * u, "cumsum", i);
      largest = of[i] > largest || isnan(of[i]) ? wide(of[i]) : largest;
    }
    near(total[row], running, sizes * roundings(n, width, 8, 64) * u * 2, "sum", row);
    for (size_t i = 0; i < n; i++)
      exps += exp[i] = exp_of(of[i] - largest);
    const wide log_exps = log_of(exps), want = (n ? largest : 0) + log_exps;
    const wide error = log_of(wide(std::max(n, size_t(1)))) + 2.1L + roundings(n, width, 4, 128);
    near(log_sum[row], n ? want : -INFINITY, (error + 2 * fabsl(log_exps) + fabsl(want)) * u, "logsumexp", row);
    for (size_t i = 0; i < n; i++) {
      const wide away = of[i] - largest, part = exp[i] / exps, log_part = away - log_exps;
      near(soft[row * n + i], part, u * (part * fabsl(away) + part * (4.1L + error)) + 3 * tiny, "softmax", i);
      near(logs[row * n + i], log_part,
           u * (2 * fabsl(away) + error + 2 * fabsl(log_exps) + fabsl(log_part)) + tiny, "log_softmax", i);
    }
    if (row == 0 || n == 0)
      continue;
    near(exp_sum(terms.data(), of, n, T(largest)), exps, exps * error * u, "exp_sum", row);
    rescale(scaled.data(), of, n, T(largest), T(0.5), T(0.25), false);
    for (size_t i = 0; i < n; i++) {
      const wide product = (of[i] - largest) / 2;
      near(terms[i], exp[i], exp[i] * u * (2.1L + fabsl(of[i] - largest)), "exp", i);
      near(scaled[i], product - 0.25L, 3 * u * (fabsl(product) + 1), "rescale", i);
    }
  }
}

template <typename T> void check_extremes_of(size_t n, extremum_fn<T> rows_of, extremum_columns_fn<T> columns_of)
{
  const size_t rows = 5, columns = std::min(n, most_columns);
  std::vector<T> x = numbers<T>(rows * n);
  for (bool largest : {false, true}) {
    T by_row[rows];
    std::vector<T> by_column(columns);
    rows_of(by_row, x.data(), rows, n, largest);
    columns_of(by_column.data(), x.data(), rows, columns, n, largest);
    const auto better = [&](T a, T b) { return largest ? std::max(a, b) : std::min(a, b); };
    for (size_t row = 0; row < rows; row++) {
      T best = x[row * n];
      for (size_t i = 0; i < n; i++)
        best = better(best, x[row * n + i]);
      expect(by_row[row] == best, "extremum", row);
    }
    for (size_t i = 0; i < columns; i++) {
      T best = x[i];
      for (size_t row = 0; row < rows; row++)
        best = better(best, x[row * n + i]);
      expect(by_column[i] == best, "extremum_columns", i);
    }
  }
}

template <typename T> void check_column_sums_of(size_t n, sum_columns_fn<T, double> sums)
{
  const wide u = ldexpl(1, sizeof(T) == 4 ? -24 : -53);
  const size_t rows = 37, columns = std::min(n, most_columns);
  const std::vector<T> x = numbers<T>(rows * n);
  std::vector<double> got(columns);
  sums(got.data(), x.data(), rows, columns, n);
  for (size_t i = 0; i < columns; i++) {
    wide want = 0, sizes = 0;
    for (size_t row = 0; row < rows; row++)
      want += x[row * n + i], sizes += fabsl(x[row * n + i]);
    near(got[i], want, sizes * u * (sizeof(T) == 8 ? 5 + double(rows) / 8 + 8 : 7), "sum_columns", i);
  }
}

void check_integers(size_t n)
{
  const size_t rows = 3, columns = std::min(n, most_columns);
  const std::vector<int32_t> x = numbers<int32_t>(rows * n);
  std::vector<int32_t> sums(rows * n);
  std::vector<int64_t> by_column(columns);
  int64_t total[rows];
  cumsum_int32_stub(sums.data(), x.data(), rows, n, 5, false);
  sum_int32_stub(total, x.data(), rows, n);
  sum_columns_int32_stub(by_column.data(), x.data(), rows, columns, n);
  for (size_t row = 0; row < rows; row++) {
    int64_t running = 0;
    for (size_t i = 0; i < n; i++) {
      running += x[row * n + i];
      expect(uint32_t(sums[row * n + i]) == uint32_t(running + 5), "cumsum of integers", i);
    }
    expect(total[row] == running, "sum of integers", row);
  }
  for (size_t i = 0; i < columns; i++)
    expect(by_column[i] == int64_t(x[i]) + x[n + i] + x[2 * n + i], "sum_columns of integers", i);
}

template <typename T> void check_channels_of(size_t groups, size_t per_group)
{
  const size_t channels = groups * per_group, pixels = 5;
  const std::vector<T> x = numbers<T>(channels * pixels), y = numbers<T>(channels * pixels);
  std::vector<T> first(channels * pixels), last(channels * pixels), both(2 * channels * pixels);
  const auto chars = [](auto &of) { return reinterpret_cast<char *>(of.data()); };
  const auto read = [](auto &of) { return reinterpret_cast<const char *>(of.data()); };
  shuffle_rows_stub(chars(first), read(x), 0, channels, groups, per_group, pixels * sizeof(T), false);
  shuffle_pixels_stub(chars(last), read(x), pixels, groups, per_group, sizeof(T), per_group % 2);
  interleave_pixels_stub(chars(both), read(x), channels * sizeof(T), read(y), channels * sizeof(T), pixels, channels,
                         sizeof(T), groups % 2);
  for (size_t p = 0; p < pixels; p++)
    for (size_t g = 0; g < groups; g++)
      for (size_t c = 0; c < per_group; c++) {
        const size_t from = g * per_group + c, to = c * groups + g;
        expect(first[to * pixels + p] == x[from * pixels + p], "shuffle_rows", to);
        expect(last[p * channels + to] == x[p * channels + from], "shuffle_pixels", to);
        expect(both[2 * (p * channels + from)] == x[p * channels + from], "interleave_pixels", from);
        expect(both[2 * (p * channels + from) + 1] == y[p * channels + from], "interleave_pixels", from);
      }
}

double gamma_of(double n, double u)
{
  return n * u / (1 - n * u);
}

void check_products(size_t m, size_t n, size_t k)
{
  const struct matmul_shape shape = {m, n, k, k, n, n};
  void *const workspace = aligned_alloc(matmul_workspace_alignment, matmul_workspace_bytes);
  const std::vector<uint8_t> a = numbers<uint8_t>(m * k);
  const std::vector<int8_t> b = numbers<int8_t>(k * n);
  std::vector<int32_t> c(m * n);
  matmul_u8s8_stub(c.data(), a.data(), b.data(), &shape, workspace);
  for (size_t i = 0; i < m * n; i++) {
    int64_t want = 0;
    for (size_t j = 0; j < k; j++)
      want += a[i / n * k + j] * b[j * n + i % n];
    expect(c[i] == want, "matmul_u8s8", i);
  }
  for (bool fp16 : {false, true}) {
    const auto bits = [&](float x) { return fp16 ? to_fp16(bits_of(x)) : to_bf16(bits_of(x)); };
    const auto value = [&](uint16_t x) { return fp16 ? double(half(x)) : double(float_of(uint32_t(x) << 16)); };
    std::vector<uint16_t> x, y;
    std::vector<double> x_values, y_values;
    for (float one : numbers<float>(m * k))
      x.push_back(bits(one)), x_values.push_back(value(x.back()));
    for (float one : numbers<float>(k * n))
      y.push_back(bits(one)), y_values.push_back(value(y.back()));
    std::vector<float> got(m * n);
    (fp16 ? matmul_fp16_stub : matmul_bf16_stub)(got.data(), x.data(), y.data(), &shape, workspace);
    // Where products of halves are summed in half precision, as AVX512_FP16 does.
    const bool halves = fp16 && !strcmp(isa_level_name(isa_current_level()), "AVX512_FP16");
    const double flushed = fp16 ? 0 : 0x1p-126 * double(k) * 50;
    // BFMMLA rounds to odd, with errors up to 2^-23, but half as often: check_floats() in matmul_reference.py says more.
    const double roundings = double(fp16 ? k : k + k % 2);
    const double relative =
        halves ? (1 + gamma_of(32, 0x1p-11)) * (1 + gamma_of(double(k) / 32 + 3, 0x1p-24)) - 1 : gamma_of(roundings, 0x1p-24);
    for (size_t i = 0; i < m * n; i++) {
      double want = 0, sizes = 0;
      for (size_t j = 0; j < k; j++) {
        const double product = x_values[i / n * k + j] * y_values[j * n + i % n];
        want += product, sizes += fabs(product);
      }
      near(got[i], want, sizes * relative + flushed + (halves ? double(k) * 0x1p-26 * 500 : 0),
           fp16 ? "matmul_fp16" : "matmul_bf16", i);
    }
  }
  free(workspace);
}

void check_all()
{
  check_conversions();
  for (size_t n : {0, 1, 2, 3, 7, 8, 15, 16, 31, 33, 64, 100, 131, 511, 600, 2050}) {
    check_floats_of<float>(n, cumsum_float_stub, sum_float_stub, softmax_float_stub, logsumexp_float_stub,
                           exp_sum_float_stub, rescale_float_stub);
    check_floats_of<double>(n, cumsum_double_stub, sum_double_stub, softmax_double_stub, logsumexp_double_stub,
                            exp_sum_double_stub, rescale_double_stub);
    if (n == 0)
      continue;
    check_integers(n);
    check_column_sums_of<float>(n, sum_columns_float_stub);
    check_column_sums_of<double>(n, sum_columns_double_stub);
    check_extremes_of<float>(n, extremum_float_stub, extremum_columns_float_stub);
    check_extremes_of<double>(n, extremum_double_stub, extremum_columns_double_stub);
    check_extremes_of<int32_t>(n, extremum_int32_stub, extremum_columns_int32_stub);
    check_extremes_of<int8_t>(n, extremum_int8_stub, extremum_columns_int8_stub);
    check_extremes_of<uint8_t>(n, extremum_uint8_stub, extremum_columns_uint8_stub);
  }
  for (size_t groups : {1, 2, 3, 4, 8, 16, 29})
    for (size_t per_group : {1, 2, 3, 16, 29, 58}) {
      check_channels_of<uint8_t>(groups, per_group);
      check_channels_of<uint16_t>(groups, per_group);
      check_channels_of<uint32_t>(groups, per_group);
      check_channels_of<uint64_t>(groups, per_group);
    }
  check_products(1, 1, 1);
  check_products(3, 5, 7);
  check_products(17, 33, 65);
  check_products(40, 70, 300);
}

} // namespace

int main()
{
  printf("selected %s\n", isa_level_name(isa_current_level()));
  for (int level = 0; level < ISA_LEVEL_COUNT; level++) {
    const char *const name = isa_level_name(static_cast<isa_level>(level));
    if (isa_use_level(static_cast<isa_level>(level)) != 0) {
      printf("%s lacks\n", name);
      continue;
    }
    generator.seed(1);
    const long before = failures;
    lanes = vector_size_stub(4);
    check_all();
    printf("%s %s, %s\n", name, failures == before ? "agrees" : "differs", level_name_stub());
  }
  return failures != 0;
}
