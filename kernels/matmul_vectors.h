// Micro tiles of a matrix product in vector registers: a word of A, broadcast, times vectors of words of B.
#ifndef ISAGEN_KERNELS_MATMUL_VECTORS_H
#define ISAGEN_KERNELS_MATMUL_VECTORS_H

#include "matmul_formats.h"
#include "vec/base.h"
#include "vec/memory.h"

namespace {

using Words = vec::Vectorized<uint32_t>;
constexpr size_t lanes = static_cast<size_t>(Words::size());

// The size of a micro tile, by the number of registers: 32 with AVX-512, else 16. Some hold vectors of B and the
// broadcast word of A.
constexpr size_t vector_rows = VECTOR_BYTES == 64 ? 14 : 6;
constexpr size_t vector_columns = 2;

// The kind of a product (matmul_blocked.h) with vectors. Dot has a Format, and
// dot(Vectorized<Format::Sum> sum, Words a, Words b), which adds the dot product of the words to every lane of sum.
template <class Dot>
class VectorKind : public Packed<typename Dot::Format, vector_rows, vector_columns * lanes, 256, 1> {
public:
  using C = typename Dot::Format::C;
  static constexpr size_t rows = vector_rows, columns = vector_columns * lanes, block = 256;

  VectorKind(size_t, size_t) {}

  void tile(C *c, size_t ldc, size_t m, size_t n, const void *a, const void *b, size_t words, bool add, size_t, size_t)
  {
    // For few rows, as in the product of a vector and a matrix, smaller micro tiles are faster.
    if (m <= 4)
      tile_of<4>(c, ldc, m, n, a, b, words, add);
    else
      tile_of<rows>(c, ldc, m, n, a, b, words, add);
  }

private:
  using Sum = vec::Vectorized<typename Dot::Format::Sum>;

  template <size_t Rows>
  static void tile_of(C *c, size_t ldc, size_t m, size_t n, const void *packed_a, const void *packed_b, size_t words,
                      bool add)
  {
    const uint32_t *a = static_cast<const uint32_t *>(packed_a), *b = static_cast<const uint32_t *>(packed_b);
    // If the matrix ends within the tile, a buffer holds its sums. There is no branch between the loads of the sums,
    // the loop and the stores, because GCC 12 would spill sums inside the loop.
    C edge[Rows * columns];
    const bool whole = m == Rows && n == columns;
    C *const sums = whole ? c : edge;
    const size_t ld = whole ? ldc : columns;
    if (!whole && add) {
      memset(edge, 0, sizeof edge);
      for (size_t r = 0; r < m; r++)
        vec::copy_memory(edge + r * columns, c + r * ldc, n * sizeof *c);
    }
    static const C zeros[columns] = {};
    const C *const from = add ? sums : zeros;
    const size_t ld_from = add ? ld : 0;
    Sum sum[Rows][vector_columns];
    UNROLL for (size_t r = 0; r < Rows; r++)
      UNROLL for (size_t v = 0; v < vector_columns; v++)
        sum[r][v] = Sum::loadu(from + r * ld_from + v * lanes);
    // The first words prefetch the lines of C, a row each, so that the stores after the loop do not wait for them; the
    // others prefetch the last row again, because with a branch GCC 12 would spill sums. With shorter vectors a tile
    // takes long enough without.
    const char *row = reinterpret_cast<const char *>(sums);
    for (size_t g = 0; g < words; g++, a++, b += columns) {
      if constexpr (VECTOR_BYTES == 64) {
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          vec::prefetch(row + v * 64);
        row += (ld * sizeof *sums) & (size_t(0) - static_cast<size_t>(g + 1 < Rows));
      }
      Words right[vector_columns];
      UNROLL for (size_t v = 0; v < vector_columns; v++)
        right[v] = Words::loadu(b + v * lanes);
      UNROLL for (size_t r = 0; r < Rows; r++) {
        const Words left(a[r * block]);
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          sum[r][v] = Dot::dot(sum[r][v], left, right[v]);
      }
    }
    UNROLL for (size_t r = 0; r < Rows; r++)
      UNROLL for (size_t v = 0; v < vector_columns; v++)
        sum[r][v].store(sums + r * ld + v * lanes);
    if (!whole)
      for (size_t r = 0; r < m; r++)
        vec::copy_memory(c + r * ldc, edge + r * columns, n * sizeof *c);
  }
};

} // namespace

#endif
