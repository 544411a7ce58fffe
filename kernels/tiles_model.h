// A software model of AMX's tiles, after Intel's SDM vol. 2. Included by tiles.h alone.
//
// If the CPU would raise an exception (#GP, #UD), the model throws a TileFault that names the broken rule.
#ifndef ISAGEN_KERNELS_TILES_MODEL_H
#define ISAGEN_KERNELS_TILES_MODEL_H

#include <math.h>
#include <string.h>

#include <stdexcept>

namespace {

// A use of tiles for which the CPU raises an exception.
class TileFault : public std::logic_error {
public:
  using std::logic_error::logic_error;
};

// A tile register of palette 1. Bytes beyond its shape are zero.
struct TileRegister {
  int rows, column_bytes;
  unsigned char data[16][64];
};

// LDTILECFG: sets the shape and zeroes the tile. An unused tile has no rows and no columns.
inline void tile_configure(TileRegister &t, TileShape shape)
{
  if (shape.rows < 0 || shape.rows > 16)
    throw TileFault("LDTILECFG #GP: a tile has 1 to 16 rows");
  if (shape.column_bytes < 0 || shape.column_bytes > 64)
    throw TileFault("LDTILECFG #GP: a tile has 1 to 64 bytes per row");
  if ((shape.rows == 0) != (shape.column_bytes == 0))
    throw TileFault("LDTILECFG #GP: a tile has rows and columns or neither");
  t.rows = shape.rows;
  t.column_bytes = shape.column_bytes;
  memset(t.data, 0, sizeof t.data);
}

inline void tile_check_used(const TileRegister &t)
{
  if (t.rows == 0)
    throw TileFault("#UD: the tile is not configured");
}

// Checks that rows are whole dwords. On a Sapphire Rapids, only TILEZERO accepts other rows.
inline void tile_check_whole(const TileRegister &t)
{
  if (t.column_bytes % 4)
    throw TileFault("#UD: the rows of a tile are whole dwords");
}

// TILEZERO
inline void tile_zero(TileRegister &t)
{
  tile_check_used(t);
  memset(t.data, 0, sizeof t.data);
}

// TILELOADD: bytes beyond the shape become zero.
inline void tile_load(TileRegister &t, const void *base, ptrdiff_t stride)
{
  tile_check_used(t);
  tile_check_whole(t);
  memset(t.data, 0, sizeof t.data);
  for (int row = 0; row < t.rows; row++)
    memcpy(t.data[row], static_cast<const char *>(base) + row * stride, static_cast<size_t>(t.column_bytes));
}

// TILESTORED
inline void tile_store(const TileRegister &t, void *base, ptrdiff_t stride)
{
  tile_check_used(t);
  tile_check_whole(t);
  for (int row = 0; row < t.rows; row++)
    memcpy(static_cast<char *>(base) + row * stride, t.data[row], static_cast<size_t>(t.column_bytes));
}

// Checks the shapes for a dot product: c is m x n, a is m x k and b is k x n dwords.
inline void tile_check_dot(const TileRegister &c, const TileRegister &a, const TileRegister &b)
{
  for (const TileRegister *t : {&c, &a, &b}) {
    tile_check_used(*t);
    tile_check_whole(*t);
  }
  if (c.rows != a.rows)
    throw TileFault("#UD: the sum and the left tile differ in rows");
  if (c.column_bytes != b.column_bytes)
    throw TileFault("#UD: the sum and the right tile differ in columns");
  if (a.column_bytes / 4 != b.rows)
    throw TileFault("#UD: the left tile's dwords per row are not the right tile's rows");
}

inline uint32_t tile_dword(const TileRegister &t, int row, int column)
{
  uint32_t value;
  memcpy(&value, &t.data[row][4 * column], sizeof value);
  return value;
}

// TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD: four products of bytes per dword, added modulo 2^32.
inline void tile_dot_bytes(TileRegister &c, const TileRegister &a, bool a_signed, const TileRegister &b, bool b_signed)
{
  tile_check_dot(c, a, b);
  for (int m = 0; m < c.rows; m++) {
    for (int n = 0; n < c.column_bytes / 4; n++) {
      uint32_t sum = tile_dword(c, m, n);
      for (int k = 0; k < b.rows; k++) {
        for (int i = 0; i < 4; i++) {
          const unsigned char x = a.data[m][4 * k + i], y = b.data[k][4 * n + i];
          const int left = a_signed ? static_cast<int8_t>(x) : x, right = b_signed ? static_cast<int8_t>(y) : y;
          sum += static_cast<uint32_t>(left * right);
        }
      }
      memcpy(&c.data[m][4 * n], &sum, sizeof sum);
    }
  }
}

// Returns the value; for a denormal, a zero of its sign (DAZ).
inline float tile_denormal_is_zero(float value)
{
  return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

// Returns x as a float, rounded to nearest even, and zero if the result is tiny (FTZ). A result is tiny if x is below
// 2^-126 after rounding to 24 bits with an unbounded exponent (SDM vol. 1, "Numeric Underflow Exception"). x is exact,
// or rounded to odd, so that this second rounding, to far fewer bits, gives the correct result.
inline float tile_round(double x)
{
  if (fabs(x) < 0x1p-126 - 0x1p-151)
    return static_cast<float>(copysign(0.0, x));
  return static_cast<float>(x);
}

// Returns the sum of two doubles. If it is inexact, it is rounded to odd: the last bit records that bits were cut off.
inline double tile_add_to_odd(double x, double y)
{
  const double sum = x + y;
  if (!(fabs(sum) < HUGE_VAL))
    return sum;
  // `error` is the exact rounding error (Knuth, TAOCP vol. 2, 4.2.2, theorem B).
  const double part = sum - x;
  const double error = (x - (sum - part)) + (y - part);
  if (error == 0)
    return sum;
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  if (bits & 1)
    return sum;
  return nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

// Returns x * y + sum, rounded once. x and y are bfloat16 values, so that their product is exact as a double.
inline float tile_fma(float x, float y, float sum)
{
  const double product = static_cast<double>(tile_denormal_is_zero(x)) * static_cast<double>(tile_denormal_is_zero(y));
  return tile_round(tile_add_to_odd(product, tile_denormal_is_zero(sum)));
}

inline float tile_add(float x, float y)
{
  return tile_round(tile_add_to_odd(tile_denormal_is_zero(x), tile_denormal_is_zero(y)));
}

inline float tile_bf16(const unsigned char *p)
{
  uint16_t half;
  memcpy(&half, p, sizeof half);
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// TDPBF16PS: the even and the odd elements of k are summed separately, each from zero and with one rounding per
// element; then the two sums are added, and the result is added to c. Rounding is to nearest even, denormal operands
// and results are zero, and MXCSR has no effect.
inline void tile_dot_bf16(TileRegister &c, const TileRegister &a, const TileRegister &b)
{
  tile_check_dot(c, a, b);
  for (int m = 0; m < c.rows; m++) {
    for (int n = 0; n < c.column_bytes / 4; n++) {
      float even = 0, odd = 0, sum;
      for (int k = 0; k < b.rows; k++) {
        even = tile_fma(tile_bf16(&a.data[m][4 * k]), tile_bf16(&b.data[k][4 * n]), even);
        odd = tile_fma(tile_bf16(&a.data[m][4 * k + 2]), tile_bf16(&b.data[k][4 * n + 2]), odd);
      }
      memcpy(&sum, &c.data[m][4 * n], sizeof sum);
      sum = tile_add(sum, tile_add(even, odd));
      memcpy(&c.data[m][4 * n], &sum, sizeof sum);
    }
  }
}

// The eight tile registers. A configuration of n tiles uses the first n.
class TileBackend {
public:
  TileBackend(const TileShape *shapes, int count)
  {
    for (int i = 0; i < 8; i++)
      tile_configure(registers_[i], i < count ? shapes[i] : TileShape{0, 0});
  }
  void release() {}

  template <int T> static void zero(TileBackend &self) { tile_zero(self.registers_[T]); }
  template <int T> static void load(TileBackend &self, const void *base, ptrdiff_t stride)
  {
    tile_load(self.registers_[T], base, stride);
  }
  template <int T> static void load_once(TileBackend &self, const void *base, ptrdiff_t stride)
  {
    tile_load(self.registers_[T], base, stride);
  }
  template <int T> static void store(TileBackend &self, void *base, ptrdiff_t stride)
  {
    tile_store(self.registers_[T], base, stride);
  }
  template <int C, int A, bool SignedA, int B, bool SignedB> static void dot_bytes(TileBackend &self)
  {
    tile_dot_bytes(self.registers_[C], self.registers_[A], SignedA, self.registers_[B], SignedB);
  }
  template <int C, int A, int B> static void dot_bf16(TileBackend &self)
  {
    tile_dot_bf16(self.registers_[C], self.registers_[A], self.registers_[B]);
  }

private:
  TileRegister registers_[8];
};

} // namespace

#endif
