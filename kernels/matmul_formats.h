// Formats: the packing of matrix elements into words for dot products, for the kinds of matmul_blocked.h.
//
//   A, B, C            element types in memory; Sum: the type of a lane of sums
//   group              elements in a word
//   words(to, from, n) if group is 1: packs n elements of A or B
//   word(const A *)    otherwise: packs `group` elements of a row of A
//   word(B, B)         if group is 2: packs one element of each of two rows of B; a group of 4 consists of bytes
//   TileA, TileB       the elements' types in tiles, if there are tile instructions for these words
#ifndef ISAGEN_KERNELS_MATMUL_FORMATS_H
#define ISAGEN_KERNELS_MATMUL_FORMATS_H

#include "matmul_blocked.h"
#include "vec/convert.h"
#include "vec/memory.h"

namespace {

// Words of A are four unsigned bytes, words of B four signed ones.
struct U8S8Bytes {
  using A = uint8_t;
  using B = int8_t;
  using C = int32_t;
  using Sum = uint32_t; // unsigned, as sums wrap
  using TileA = uint8_t;
  using TileB = int8_t;
  static constexpr size_t group = 4;

  static uint32_t word(const A *a)
  {
    uint32_t bits;
    memcpy(&bits, a, sizeof bits);
    return bits;
  }
};

// Four bytes each, where 128 is subtracted from those of A, for an instruction whose operands are both signed.
struct S8S8Bytes : U8S8Bytes {
  static uint32_t word(const A *a) { return U8S8Bytes::word(a) ^ 0x80808080; }
};

// Two bytes each, as 16-bit integers, for levels whose instructions for bytes saturate their sums.
struct U8S8Pairs {
  using A = uint8_t;
  using B = int8_t;
  using C = int32_t;
  using Sum = uint32_t;
  static constexpr size_t group = 2;

  static uint32_t word(const A *a) { return a[0] | static_cast<uint32_t>(a[1]) << 16; }
  static uint32_t word(B a, B b) { return static_cast<uint16_t>(a) | static_cast<uint32_t>(b) << 16; }
};

// One byte each, as a 32-bit integer, for any CPU.
struct U8S8Integers {
  using A = uint8_t;
  using B = int8_t;
  using C = int32_t;
  using Sum = uint32_t;
  static constexpr size_t group = 1;

  template <class Byte> static void words(uint32_t *__restrict to, const Byte *from, size_t n)
  {
    for (size_t i = 0; i < n; i++)
      to[i] = static_cast<uint32_t>(from[i]);
  }
};

// Two bfloat16.
struct Bf16Pairs {
  using A = uint16_t;
  using B = uint16_t;
  using C = float;
  using Sum = float;
  using TileA = vec::bfloat16;
  using TileB = vec::bfloat16;
  static constexpr size_t group = 2;

  static uint32_t word(const A *a)
  {
    uint32_t bits;
    vec::copy_memory(&bits, a, sizeof bits);
    return bits;
  }
  static uint32_t word(B a, B b) { return a | static_cast<uint32_t>(b) << 16; }
};
using Fp16Pairs = Bf16Pairs; // packed alike; only the types in tiles would differ

// One 16-bit float T, converted to a float.
template <class T> struct WideFloats {
  using A = uint16_t;
  using B = uint16_t;
  using C = float;
  using Sum = float;
  static constexpr size_t group = 1;

  static void words(uint32_t *to, const uint16_t *from, size_t n)
  {
    using Vec = vec::Vectorized<T>;
    constexpr size_t width = static_cast<size_t>(Vec::size());
    float *const floats = reinterpret_cast<float *>(to);
    size_t i = 0;
    for (; n - i >= width; i += width)
      vec::store_floats<T>(to_float(Vec::loadu(from + i)), floats + i);
    if (i < n)
      vec::store_floats<T>(to_float(Vec::loadu(from + i, n - i)), floats + i, n - i);
  }
};
using Bf16Floats = WideFloats<vec::bfloat16>;
using Fp16Floats = WideFloats<vec::half>;

// Packs a Format into panels of Rows rows and Columns columns. Packed rows of A are Block words apart. The number of
// words along k is padded to a multiple of Step.
//
//   A   the words of a row are adjacent; if High is 2, Step words of one row alternate with Step words of the next
//   B   the first words of all columns are adjacent, then the second words of all columns, and so on
//
// A tile instruction loads rows of words with a stride. A vector instruction broadcasts a word of A and loads a vector
// of words of B.
template <class Format, size_t Rows, size_t Columns, size_t Block, size_t Step, size_t High = 1>
struct Packed : Format {
  using A = typename Format::A;
  using B = typename Format::B;
  static constexpr size_t rows = Rows, columns = Columns, block = Block, step = Step, column_bytes = 4;
  static constexpr size_t group = Format::group;

  static void pack_a(void *to, const A *a, size_t lda, size_t m, size_t k)
  {
    const size_t filled = round_up(k, group * Step) / group;
    // The padding rows of the last panel are multiplied too, but their results are not stored.
    for (size_t i = 0; i < round_up(m, Rows); i++) {
      const A *const row = a + at_most(i, m - 1) * lda;
      uint32_t *const out = static_cast<uint32_t *>(to) + i / High * High * Block + i % High * Step;
      const size_t words = i < m ? k / group : 0;
      pack_row(out, row, 0, words);
      for (size_t g = words; g < filled; g++)
        out[place(g)] = 0;
      if (i < m && words < filled) {
        A last[group] = {};
        vec::copy_memory(last, row + words * group, (k - words * group) * sizeof *row);
        pack_row(out, last, words, 1);
      }
    }
  }

  static void pack_b(void *to, const B *b, size_t ldb, size_t k, size_t n)
  {
    static const B zeros[Columns] = {};
    const size_t filled = round_up(k, group * Step) / group;
    // Writes several words of a panel before the next panel: the panels lie a power of two apart, so the same word of
    // all panels would compete for one set of the cache.
    constexpr size_t some = 8;
    for (size_t first = 0; first < filled; first += some)
      for (size_t j = 0; j < n; j += Columns)
        for (size_t g = first; g < at_most(first + some, filled); g++) {
          const B *from[group];
          for (size_t r = 0; r < group; r++)
            from[r] = g * group + r < k ? b + (g * group + r) * ldb + j : zeros;
          uint32_t *out = static_cast<uint32_t *>(to) + j * filled + g * Columns;
          if (n - j >= Columns) {
            pack_words(out, from, Columns);
          } else {
            memset(out, 0, Columns * sizeof *out);
            pack_words(out, from, n - j);
          }
        }
  }

private:
  // Returns the distance, in words, of word g of a row of A from the row's first word.
  static constexpr size_t place(size_t g) { return g / Step * Step * High + g % Step; }

  static void pack_row(uint32_t *__restrict to, const A *from, size_t first, size_t words)
  {
    if constexpr (group == 1)
      Format::words(to + first, from, words);
    else
      for (size_t g = 0; g < words; g++)
        to[place(first + g)] = Format::word(from + g * group);
  }

  static void pack_words(uint32_t *__restrict to, const B *const *from, size_t n)
  {
    using vec::load_one;
    if constexpr (group == 1)
      Format::words(to, from[0], n);
    else if constexpr (group == 2)
      for (size_t j = 0; j < n; j++)
        to[j] = Format::word(load_one(from[0] + j), load_one(from[1] + j));
    else { // byte by byte: compilers turn these stores into vectors that are interleaved
      static_assert(group == 4 && sizeof(B) == 1, "a group of four is one of bytes");
      unsigned char *__restrict bytes = reinterpret_cast<unsigned char *>(to);
      const B *const first = from[0], *const second = from[1], *const third = from[2], *const fourth = from[3];
      for (size_t j = 0; j < n; j++) {
        bytes[4 * j] = static_cast<unsigned char>(first[j]);
        bytes[4 * j + 1] = static_cast<unsigned char>(second[j]);
        bytes[4 * j + 2] = static_cast<unsigned char>(third[j]);
        bytes[4 * j + 3] = static_cast<unsigned char>(fourth[j]);
      }
    }
  }
};

} // namespace

#endif
