// a * b + c in half precision, rounded once: the instruction VFMADD231PH at levels that have it, a software model of
// this instruction at other levels.
#ifndef ISAGEN_KERNELS_HALF_FMA_H
#define ISAGEN_KERNELS_HALF_FMA_H

#include "vec/convert.h"

#if !defined(CPU_CAPABILITY_AVX512_FP16)
#include <math.h>
#endif

namespace {

using Halves = vec::Vectorized<vec::half>;

#if defined(CPU_CAPABILITY_AVX512_FP16)

VEC_INLINE Halves half_fma(Halves a, Halves b, Halves c)
{
#if defined(__clang__)
  return Halves::of((Halves::Raw)_mm512_fmadd_ph((__m512h)a.v, (__m512h)b.v, (__m512h)c.v));
#else
  // Assembly: for the intrinsic, GCC 12 may choose a form that overwrites a factor, and then copies sums inside loops.
  __asm__("vfmadd231ph\t{%2, %1, %0|%0, %1, %2}" : "+v"(c.v) : "v"(a.v), "v"(b.v));
  return c;
#endif
}

#else

// Returns the value of a half, given by its bits.
inline double half_value(uint16_t bits)
{
  const int exponent = bits >> 10 & 31, mantissa = bits & 0x3ff;
  const double size = exponent == 31 ? (mantissa ? NAN : HUGE_VAL)
                      : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                     : ldexp(mantissa, -24);
  return bits & 0x8000 ? -size : size;
}

// Returns the bits of x, rounded to nearest even. MXCSR's FTZ and DAZ do not affect half precision (Intel SDM vol. 1,
// 5.20).
inline uint16_t half_bits(double x)
{
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  if (isnan(x))
    return static_cast<uint16_t>(sign | 0x7e00);
  const double size = fabs(x);
  if (size >= 65520) // 65520 is half way between the largest half and 65536
    return static_cast<uint16_t>(sign | 0x7c00);
  int exponent;
  frexp(size, &exponent);
  const int last_bit = size < 0x1p-14 ? -24 : exponent - 11; // 2^-24 for denormals and zero
  const double rounded = nearbyint(ldexp(size, -last_bit)); // in units of the last bit, in the mode to nearest even
  return static_cast<uint16_t>(sign + static_cast<int>(rounded) + (last_bit + 24 > 0 ? (last_bit + 24) * 1024 : 0));
}

inline uint16_t half_fma(uint16_t a, uint16_t b, uint16_t c)
{
  // The product has at most 22 bits. The bits of product and c lie between 2^-48 and 2^33: 28 bits more than a double
  // has. So the sum is rounded to odd first, and then to 11 bits.
  const double product = half_value(a) * half_value(b), addend = half_value(c), sum = product + addend;
  const double part = sum - product, error = (product - (sum - part)) + (addend - part);
  uint64_t bits = vec::bit_cast<uint64_t>(sum);
  const bool inexact = error != 0 && fabs(sum) < HUGE_VAL; // false for NaN
  if (inexact && (bits & 1) == 0)
    bits += (error > 0) == (sum > 0) ? 1 : static_cast<uint64_t>(-1);
  return half_bits(vec::bit_cast<double>(bits));
}

inline Halves half_fma(Halves a, Halves b, Halves c)
{
  for (int i = 0; i < Halves::size(); i++)
    c.v[i] = half_fma(a.v[i], b.v[i], c.v[i]);
  return c;
}

#endif

} // namespace

#endif
