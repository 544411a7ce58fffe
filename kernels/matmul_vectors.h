// Micro tiles of a matrix product, computed in vector registers: a word of A, the same in all lanes, times a vector of
// words of B.
#ifndef ISAGEN_KERNELS_MATMUL_VECTORS_H
#define ISAGEN_KERNELS_MATMUL_VECTORS_H

#include "matmul_formats.h"
#include "vec/base.h"
#include "vec/memory.h"
#include "vec/shuffle.h"

namespace {

using Words = vec::Vectorized<uint32_t>;
constexpr size_t lanes = static_cast<size_t>(Words::size());

// The size of a micro tile follows from the number of registers: 32 with AVX-512 and on arm64, else 16. Its sums leave
// registers for vectors of B and for words of A.
#if defined(__aarch64__)
constexpr size_t vector_rows = 10;
#else
constexpr size_t vector_rows = VECTOR_BYTES == 64 ? 14 : 6;
#endif
constexpr size_t vector_columns = 2;

// The Kind (matmul_blocked.h) of a product with vectors. Dot has a Format, and a function dot(Vectorized<Format::Sum>
// sum, Words a, Words b), which returns the sum with products added. Each 16 bytes of its arguments contain
//
//   if High is 1   in every lane of a the same word of a row, in sum a lane for each word of b
//   if High is 2   in a two words of a row and two of the next, in b two words of a column and two of the next, in sum
//                  the product of these matrices, row by row
template <class Dot, size_t High = 1>
class VectorKind : public Packed<typename Dot::Format, vector_rows, vector_columns * lanes, 256, High, High> {
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
  using SumOf = typename Dot::Format::Sum;
  using Sum = vec::Vectorized<SumOf>;

  static VEC_INLINE Words left_words(const uint32_t *a)
  {
    if constexpr (High == 1)
      return Words(*a);
#if VECTOR_BYTES == 32 && defined(__ARM_FEATURE_SVE_BITS)
    return Words::of((Words::Raw)svld1rq_u32(svptrue_b32(), a));
#else
    return Words::loadu(a);
#endif
  }

  // Interleaves a and b, as lanes of T: then a is the first half of the result, b the second.
  template <class T, class Vec> static VEC_INLINE void take_turns(Vec &a, Vec &b)
  {
    using Lane = typename Vec::value_type;
    const vec::Pair<T> both = interleave2(vec::as<T>(a), vec::as<T>(b));
    a = vec::as<Lane>(both.first), b = vec::as<Lane>(both.second);
  }

  template <size_t Rows>
  static void tile_of(C *c, size_t ldc, size_t m, size_t n, const void *packed_a, const void *packed_b, size_t words,
                      bool add)
  {
    const uint32_t *a = static_cast<const uint32_t *>(packed_a), *b = static_cast<const uint32_t *>(packed_b);
    // If the matrix ends within the tile, the sums are loaded from and stored to the buffer `edge`. There is no branch
    // between loads, loop and stores, because with one GCC 12 would spill sums inside the loop.
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
    if constexpr (High == 2)
      UNROLL for (size_t r = 0; r < Rows; r += 2)
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          take_turns<uint64_t>(sum[r][v], sum[r + 1][v]);
    // Each of the first steps prefetches a row of C, so that the stores after the loop do not wait for memory. Later
    // steps prefetch the last row again, because with a branch GCC 12 would spill sums. With shorter vectors, the loop
    // takes so long that prefetching gains nothing.
    const char *row = reinterpret_cast<const char *>(sums);
    for (size_t g = 0; g < words; g += High, a += High * High, b += High * columns) {
      if constexpr (VECTOR_BYTES == 64) {
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          vec::prefetch(row + v * 64);
        row += (ld * sizeof *sums) & (size_t(0) - static_cast<size_t>(g + 1 < Rows));
      }
      Words right[High][vector_columns];
      UNROLL for (size_t w = 0; w < High; w++)
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          right[w][v] = Words::loadu(b + w * columns + v * lanes);
      if constexpr (High == 2)
        UNROLL for (size_t v = 0; v < vector_columns; v++)
          take_turns<uint32_t>(right[0][v], right[1][v]);
      UNROLL for (size_t r = 0; r < Rows; r += High) {
        const Words left = left_words(a + r * block);
        UNROLL for (size_t w = 0; w < High; w++)
          UNROLL for (size_t v = 0; v < vector_columns; v++)
            sum[r + w][v] = Dot::dot(sum[r + w][v], left, right[w][v]);
      }
    }
    if constexpr (High == 2)
      UNROLL for (size_t r = 0; r < Rows; r += 2)
        UNROLL for (size_t v = 0; v < vector_columns; v++) {
          const vec::Pair<uint64_t> both = deinterleave2(vec::as<uint64_t>(sum[r][v]), vec::as<uint64_t>(sum[r + 1][v]));
          sum[r][v] = vec::as<SumOf>(both.first), sum[r + 1][v] = vec::as<SumOf>(both.second);
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
