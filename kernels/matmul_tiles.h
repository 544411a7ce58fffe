// Micro tiles of a matrix product, computed in tiles (tiles.h): four tiles of C, two of A and two of B.
#ifndef ISAGEN_KERNELS_MATMUL_TILES_H
#define ISAGEN_KERNELS_MATMUL_TILES_H

#include "matmul_formats.h"
#include "tiles.h"

namespace {

// The Kind (matmul_blocked.h) of a product with tiles, which contain words of a Format.
template <class Format> class TileKind : public Packed<Format, 32, 32, 256, 16> {
public:
  using C = typename Format::C;
  static constexpr size_t columns = 32, block = 256;

  // A product of fewer than 16 rows or columns uses tiles of that size: an instruction takes time for each row.
  VEC_INLINE TileKind(size_t m, size_t n)
    : high_(at_most(m, 16)), wide_(at_most(n, 16)),
      tiles_({shape(high_, wide_), shape(high_, wide_), shape(high_, wide_), shape(high_, wide_), shape(high_, 16),
              shape(high_, 16), shape(16, wide_), shape(16, wide_)})
  {}

  // Declared for VEC_INLINE: without optimisation, compilers do not inline a destructor that they generate.
  VEC_INLINE ~TileKind() {}

  VEC_INLINE void tile(C *c, size_t ldc, size_t m, size_t n, const void *a, const void *b, size_t words, bool add,
                       size_t, size_t)
  {
    // Tiles are stored whole. If the matrix ends within a tile, the tile is stored to a buffer.
    if (m % high_ == 0 && n % wide_ == 0) {
      tiles(c, ldc, m > high_, n > wide_, a, b, words, add);
    } else {
      C edge[32 * columns] = {};
      if (add)
        for (size_t i = 0; i < m; i++)
          vec::copy_memory(edge + i * columns, c + i * ldc, n * sizeof *c);
      tiles(edge, columns, m > high_, n > wide_, a, b, words, add);
      for (size_t i = 0; i < m; i++)
        vec::copy_memory(c + i * ldc, edge + i * columns, n * sizeof *c);
    }
  }

private:
  static constexpr TileShape shape(size_t rows, size_t columns)
  {
    return {static_cast<int>(rows), 4 * static_cast<int>(columns)};
  }

  VEC_INLINE void tiles(C *c, size_t ldc, bool two_high, bool two_wide, const void *a, const void *b, size_t words,
                        bool add)
  {
    if (two_high && two_wide)
      tiles<true, true>(c, ldc, a, b, words, add);
    else if (two_high)
      tiles<true, false>(c, ldc, a, b, words, add);
    else if (two_wide)
      tiles<false, true>(c, ldc, a, b, words, add);
    else
      tiles<false, false>(c, ldc, a, b, words, add);
  }

  // With `two_high`, C has two tiles of 16 rows each; with `two_wide`, two tiles of 16 columns each.
  template <bool two_high, bool two_wide>
  VEC_INLINE void tiles(C *c, size_t ldc, const void *packed_a, const void *packed_b, size_t words, bool add)
  {
    const uint32_t *a = static_cast<const uint32_t *>(packed_a), *b = static_cast<const uint32_t *>(packed_b);
    constexpr ptrdiff_t stride_a = block * sizeof *a, stride_b = columns * sizeof *b;
    const ptrdiff_t stride_c = static_cast<ptrdiff_t>(ldc * sizeof *c);
    auto c00 = ::tile<0>(tiles_);
    auto c01 = ::tile<1>(tiles_);
    auto c10 = ::tile<2>(tiles_);
    auto c11 = ::tile<3>(tiles_);
    auto a0 = ::tile<4>(tiles_);
    auto a1 = ::tile<5>(tiles_);
    auto b0 = ::tile<6>(tiles_);
    auto b1 = ::tile<7>(tiles_);
    if (add) {
      c00.load(c, stride_c);
      if constexpr (two_wide)
        c01.load(c + 16, stride_c);
      if constexpr (two_high)
        c10.load(c + 16 * ldc, stride_c);
      if constexpr (two_high && two_wide)
        c11.load(c + 16 * ldc + 16, stride_c);
    } else {
      c00.zero();
      if constexpr (two_wide)
        c01.zero();
      if constexpr (two_high)
        c10.zero();
      if constexpr (two_high && two_wide)
        c11.zero();
    }
    for (size_t w = 0; w < words; w += 16, a += 16, b += 16 * columns) {
      a0.load(a, stride_a);
      b0.load(b, stride_b);
      dot(c00, a0, b0);
      if constexpr (two_wide) {
        b1.load(b + 16, stride_b);
        dot(c01, a0, b1);
      }
      if constexpr (two_high) {
        a1.load(a + 16 * block, stride_a);
        dot(c10, a1, b0);
      }
      if constexpr (two_high && two_wide)
        dot(c11, a1, b1);
    }
    c00.store(c, stride_c);
    if constexpr (two_wide)
      c01.store(c + 16, stride_c);
    if constexpr (two_high)
      c10.store(c + 16 * ldc, stride_c);
    if constexpr (two_high && two_wide)
      c11.store(c + 16 * ldc + 16, stride_c);
  }

  size_t high_, wide_;
  using Left = typename Format::TileA;
  using Right = typename Format::TileB;
  Tiles<C, C, C, C, Left, Left, Right, Right> tiles_;
};

} // namespace

#endif
