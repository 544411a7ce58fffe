// The blocked matrix product, for any kind of arithmetic: packs blocks of both matrices and multiplies micro tiles.
//
// Elements are packed into words of 4 bytes. A word contains `group` consecutive elements along k, the operand of one
// lane of a dot product instruction (4 x 8 bits, 2 x 16 bits, 1 float).
//
// A Kind is constructed once per product, and has
//   A, B, C             element types in memory
//   group               elements in a word
//   rows, columns       the size of a micro tile of C
//   block               words along k that are packed at once, and the distance of packed rows of A
//   step                the number of words along k is padded with zeros to a multiple of `step`
//   column_bytes        bytes of a column of packed B per word: 4, and 2 for half precision
//   Kind(m, n)          sets up the product, such as a tile configuration
//   pack_a(to, a, lda, m, k), pack_b(to, b, ldb, k, n)
//                       packs blocks of A[m][k] and B[k][n] into panels of `rows` rows and of `columns` columns
//   tile(c, ldc, m, n, a, b, words, add, i, j)
//                       c[m][n] = (or +=, if `add`) the product of two panels over `words` words; i is the first row
//                       of the panel in the packed block of A, j the first column of that in the packed block of B
#ifndef ISAGEN_KERNELS_MATMUL_BLOCKED_H
#define ISAGEN_KERNELS_MATMUL_BLOCKED_H

#include "stubs/matmul.h"

#include <string.h>

namespace {

constexpr size_t round_up(size_t n, size_t multiple) { return (n + multiple - 1) / multiple * multiple; }
constexpr size_t at_most(size_t n, size_t limit) { return n < limit ? n : limit; }

// While the micro tiles are computed, a panel of B stays in the first level cache, and the blocks in the second.
constexpr size_t block_rows = 256, block_columns = 512;

template <class Kind>
void matmul_blocked(typename Kind::C *c, const typename Kind::A *a, const typename Kind::B *b,
                    const matmul_shape &shape, void *workspace)
{
  const size_t m = shape.m, n = shape.n, k = shape.k;
  if (m == 0 || n == 0)
    return;
  if (k == 0) {
    for (size_t i = 0; i < m; i++) {
      void *const row = c + i * shape.ldc; // of any alignment
      memset(row, 0, n * sizeof *c);
    }
    return;
  }
  constexpr size_t block_k = Kind::block * Kind::group;
  constexpr size_t block_m = block_rows / Kind::rows * Kind::rows;
  constexpr size_t block_n = block_columns / Kind::columns * Kind::columns;
  constexpr size_t bytes_a = block_m * Kind::block * 4, bytes_b = block_n * Kind::block * Kind::column_bytes;
  static_assert(bytes_a + bytes_b <= matmul_workspace_bytes, "matmul.h: the workspace is too small");
  unsigned char *const packed_b = static_cast<unsigned char *>(workspace), *const packed_a = packed_b + bytes_b;

  Kind kind(m, n);
  for (size_t jc = 0; jc < n; jc += block_n) {
    const size_t nc = at_most(n - jc, block_n);
    for (size_t pc = 0; pc < k; pc += block_k) {
      const size_t kc = at_most(k - pc, block_k);
      const size_t words = round_up(kc, Kind::step * Kind::group) / Kind::group;
      kind.pack_b(packed_b, b + pc * shape.ldb + jc, shape.ldb, kc, nc);
      for (size_t ic = 0; ic < m; ic += block_m) {
        const size_t mc = at_most(m - ic, block_m);
        kind.pack_a(packed_a, a + ic * shape.lda + pc, shape.lda, mc, kc);
        for (size_t j = 0; j < nc; j += Kind::columns)
          for (size_t i = 0; i < mc; i += Kind::rows)
            kind.tile(c + (ic + i) * shape.ldc + jc + j, shape.ldc, at_most(mc - i, Kind::rows),
                      at_most(nc - j, Kind::columns), packed_a + i * Kind::block * 4,
                      packed_b + j * words * Kind::column_bytes, words, pc > 0, i, j);
      }
    }
  }
}

} // namespace

#endif
