// Runs every product in memory that ends where the matrices end, for sanitizers and for other architectures.
//
// products LEVEL... prints a line per level, or stops at the first wrong result. With -DPORTABLE, tiles and half precision
// arithmetic are left out.
#include "stubs/matmul.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <memory>
#include <random>

extern "C" {
int use(const char *level, int emulate);
int tiles_u8s8(int32_t *c, const uint8_t *a, const int8_t *b, const matmul_shape *shape);
int tiles_bf16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape);
int halves_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape);
int matmul_u8s8(int32_t *c, const uint8_t *a, const int8_t *b, const matmul_shape *shape);
int matmul_bf16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape);
int matmul_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape);
}

namespace {

// Elements are small integers, so that sums are exact in every format: 1 to 4 for the floats.
constexpr uint16_t bf16_of[] = {0x3f80, 0x4000, 0x4040, 0x4080}, fp16_of[] = {0x3c00, 0x4000, 0x4200, 0x4400};

template <class C, class A, class B>
bool check(int (*multiply)(C *, const A *, const B *, const matmul_shape *), const matmul_shape &s, const uint16_t *codes)
{
  static std::mt19937 random(1);
  const std::unique_ptr<A[]> a(new A[s.m * s.k]);
  const std::unique_ptr<B[]> b(new B[s.k * s.n]);
  const std::unique_ptr<C[]> c(new C[s.m * s.n]);
  const std::unique_ptr<int[]> x(new int[s.m * s.k]), y(new int[s.k * s.n]);
  for (size_t i = 0; i < s.m * s.k; i++) {
    x[i] = codes ? static_cast<int>(random() % 4) + 1 : static_cast<int>(random() % 256);
    a[i] = static_cast<A>(codes ? codes[x[i] - 1] : x[i]);
  }
  for (size_t i = 0; i < s.k * s.n; i++) {
    y[i] = codes ? static_cast<int>(random() % 4) + 1 : static_cast<int>(random() % 256) - 128;
    b[i] = static_cast<B>(codes ? codes[y[i] - 1] : y[i]);
  }
  if (multiply(c.get(), a.get(), b.get(), &s))
    return false;
  for (size_t i = 0; i < s.m; i++)
    for (size_t j = 0; j < s.n; j++) {
      int sum = 0;
      for (size_t p = 0; p < s.k; p++)
        sum += x[i * s.k + p] * y[p * s.n + j];
      if (c[i * s.n + j] != static_cast<C>(sum)) {
        printf("%zu x %zu x %zu: [%zu][%zu] is %g, not %d\n", s.m, s.n, s.k, i, j, static_cast<double>(c[i * s.n + j]),
               sum);
        return false;
      }
    }
  return true;
}

} // namespace

int main(int count, char **arguments)
{
  constexpr size_t sizes[][3] = {{0, 3, 2}, {3, 0, 2}, {2, 3, 0}, {1, 1, 1}, {3, 5, 7}, {4, 33, 64}, {14, 32, 5},
                                 {15, 31, 33}, {16, 16, 64}, {17, 65, 130}, {33, 17, 300}, {32, 64, 257}};
  for (int i = 1; i < count; i++) {
    char *const level = arguments[i], *const emulated = strchr(level, ' ');
    if (emulated)
      *emulated = 0;
    if (use(level, emulated != nullptr) != 0) {
      printf("%s is not supported\n", level);
      return 1;
    }
    for (const auto &size : sizes) {
      const matmul_shape shape = {size[0], size[1], size[2], size[2], size[1], size[1]};
      if (!check(matmul_u8s8, shape, nullptr) || !check(matmul_bf16, shape, bf16_of) ||
          !check(matmul_fp16, shape, fp16_of))
        return 1;
#ifndef PORTABLE
      if (!check(tiles_u8s8, shape, nullptr) || !check(tiles_bf16, shape, bf16_of) ||
          !check(halves_fp16, shape, fp16_of))
        return 1;
#endif
    }
    printf("%s agrees\n", level);
  }
  return 0;
}
