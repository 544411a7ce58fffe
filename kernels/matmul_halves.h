// Micro tiles of a matrix product in half precision arithmetic, with twice as many lanes as floats.
//
// Half precision ranges from 2^-24 to 65504, and has 11 bits. Against overflow, underflow and rounding,
//
//   - rows of A and columns of B are scaled by powers of two, in each block along k, so that their largest element is
//     between 16 and 32: no sum of 32 products overflows, and underflow is small beside the largest product;
//   - at most 32 products are summed in half precision, and these sums are added as floats.
//
// With u = 2^-11, the error of an element of C is at most
//     (32 u + k/32 * 2^-24) * (1 + 2^-5) * sum |a| |b|  +  k * 2^-26 * max |a| * max |b|
// docs/kernels.md derives this bound, and tests/kernels/test_matmul.py checks it.
#ifndef ISAGEN_KERNELS_MATMUL_HALVES_H
#define ISAGEN_KERNELS_MATMUL_HALVES_H

#include "half_fma.h"
#include "matmul_vectors.h"

namespace {

// The Kind (matmul_blocked.h) of a product with half precision vectors. A word of A contains an element twice, because
// a load can broadcast a word, but not 16 bits.
class HalfKind {
public:
  using A = uint16_t;
  using B = uint16_t;
  using C = float;
  static constexpr size_t half_lanes = static_cast<size_t>(Halves::size());
  static constexpr size_t group = 1, rows = vector_rows, columns = vector_columns * half_lanes, block = 256;
  static constexpr size_t step = 32, column_bytes = 2;

  HalfKind(size_t, size_t) {}

  void pack_a(void *to, const A *a, size_t lda, size_t m, size_t k)
  {
    const size_t filled = round_up(k, step);
    uint32_t *out = static_cast<uint32_t *>(to);
    for (size_t i = 0; i < round_up(m, rows); i++, out += block) {
      if (i >= m) {
        memset(out, 0, filled * sizeof *out);
        unscale_a_[i] = 0;
        continue;
      }
      const A *row = a + i * lda;
      Bits largest(0);
      for (size_t g = 0; g < k; g += half_lanes)
        largest = max_or_second(largest, finite_size(Bits::loadu(row + g, k - g)));
      const Scale scale = scale_for(reduce_all([](Bits x, Bits y) { return max_or_second(x, y); }, largest));
      unscale_a_[i] = scale.down;
      for (size_t g = 0; g < filled; g += half_lanes) {
        const Bits element = g < k ? Bits::loadu(row + g, k - g) : Bits(0);
        const Bits scaled = scaled_bits(element, Floats(scale.up), Floats(scale.up));
        const vec::Pair<uint16_t> twice = interleave2(scaled, scaled);
        twice.first.store(out + g);
        twice.second.store(out + g + half_lanes / 2);
      }
    }
  }

  void pack_b(void *to, const B *b, size_t ldb, size_t k, size_t n)
  {
    const size_t filled = round_up(k, step);
    uint16_t largest[block_columns] = {};
    float up[block_columns];
    for (size_t g = 0; g < k; g++)
      for (size_t j = 0; j < n; j += half_lanes) {
        const Bits size = finite_size(Bits::loadu(b + g * ldb + j, n - j));
        max_or_second(size, Bits::loadu(largest + j)).store(largest + j);
      }
    for (size_t j = 0; j < round_up(n, columns); j++) {
      const Scale scale = scale_for(largest[j]);
      up[j] = scale.up;
      unscale_b_[j] = scale.down;
    }
    uint16_t *const out = static_cast<uint16_t *>(to);
    for (size_t g = 0; g < filled; g++)
      for (size_t j = 0; j < round_up(n, columns); j += half_lanes) {
        const Bits element = g < k && j < n ? Bits::loadu(b + g * ldb + j, n - j) : Bits(0);
        scaled_bits(element, Floats::loadu(up + j), Floats::loadu(up + j + half_lanes / 2))
          .store(out + j / columns * columns * filled + g * columns + j % columns);
      }
  }

  void tile(C *c, size_t ldc, size_t m, size_t n, const void *a, const void *b, size_t words, bool add, size_t i,
            size_t j)
  {
    if (m <= 4)
      tile_of<4>(c, ldc, m, n, a, b, words, add, i, j);
    else
      tile_of<rows>(c, ldc, m, n, a, b, words, add, i, j);
  }

private:
  using Bits = vec::Vectorized<uint16_t>;
  using Floats = vec::Vectorized<float>;

  struct Scale {
    float up, down;
  };

  // Returns the bits of |x|. For infinity and NaN, returns zero, because no scale changes them.
  static Bits finite_size(Bits x)
  {
    const Bits size = x & Bits(0x7fff);
    return Bits::blend(size < Bits(0x7c00), size, Bits(0));
  }

  // Returns the power of two by which |x|, given by its bits, becomes a number between 16 and 32, and its inverse.
  static Scale scale_for(uint16_t bits)
  {
    if (bits == 0)
      return {1, 1};
    // `exponent` is biased as in a float: |x| has the leading bit 2^(exponent - 127). Denormals are multiples of 2^-24.
    const uint32_t leading = 31 - static_cast<uint32_t>(__builtin_clz(bits));
    const uint32_t exponent = bits < 0x400 ? 127 - 24 + leading : 127 - 15 + (bits >> 10);
    return {vec::bit_cast<float>((127 + 4 + 127 - exponent) << 23), vec::bit_cast<float>((exponent - 4) << 23)};
  }

  static Bits scaled_bits(Bits x, Floats first, Floats second)
  {
    const vec::Pair<float> value = to_float(vec::as<vec::half>(x));
    return vec::as<uint16_t>(vec::to_half(value.first * first, value.second * second));
  }

  template <size_t Rows>
  void tile_of(C *c, size_t ldc, size_t m, size_t n, const void *packed_a, const void *packed_b, size_t words, bool add,
               size_t i, size_t j) const
  {
    const uint32_t *a = static_cast<const uint32_t *>(packed_a);
    const uint16_t *b = static_cast<const uint16_t *>(packed_b);
    alignas(64) float memory[Rows * columns] = {};
    float *sums = memory;
#if defined(__GNUC__)
    __asm__("" : "+r"(sums) : : "memory"); // keeps the sums in memory: the inner loop needs all registers
#endif
    for (size_t end = step; end <= words; end += step) {
      Halves sum[Rows][vector_columns];
      UNROLL for (size_t r = 0; r < Rows; r++)
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          sum[r][v] = Halves(vec::half{0});
      for (size_t g = 0; g < step; g++, a++, b += columns) {
        Halves right[vector_columns];
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          right[v] = Halves::loadu(b + v * half_lanes);
        UNROLL for (size_t r = 0; r < Rows; r++) {
          const Halves left = vec::as<vec::half>(Words(a[r * block]));
          UNROLL for (size_t v = 0; v < vector_columns; v++)
            sum[r][v] = half_fma(left, right[v], sum[r][v]);
        }
      }
      UNROLL for (size_t r = 0; r < Rows; r++)
        UNROLL for (size_t v = 0; v < vector_columns; v++) {
          float *to = sums + r * columns + v * half_lanes;
          const vec::Pair<float> run = to_float(sum[r][v]);
          (Floats::loadu(to) + run.first).store(to);
          (Floats::loadu(to + lanes) + run.second).store(to + lanes);
        }
    }
    for (size_t r = 0; r < m; r++)
      for (size_t p = 0; p < n; p += lanes) {
        const Floats unscale = Floats(unscale_a_[i + r]) * Floats::loadu(unscale_b_ + j + p);
        const Floats old = add ? Floats::loadu(c + r * ldc + p, n - p) : Floats(0);
        fmadd(Floats::loadu(sums + r * columns + p), unscale, old).store(c + r * ldc + p, n - p);
      }
  }

  float unscale_a_[block_rows], unscale_b_[block_columns];
};

} // namespace

#endif
