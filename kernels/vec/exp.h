// exp of Vectorized<float> and Vectorized<double>.
//
// e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln(2)/2, and e^r = 1 + r + r^2 * q(r). The coefficients of q make
// the largest relative error of e^r minimal (Lawson's iteration in 80-bit arithmetic): 2^-28.3 for float, 2^-57.9 for
// double. After all roundings, the result is within 2 units in the last place. So are denormal results, unless
// MXCSR.FTZ makes them zero. e^0 is 1, e^-inf is 0, e^inf is inf, and e^NaN is NaN.
#ifndef ISAGEN_KERNELS_VEC_EXP_H
#define ISAGEN_KERNELS_VEC_EXP_H

#include "base.h"

namespace vec {
namespace {

template <typename T> struct ExpConstants;

// ln 2 is split so that n * ln2_high is exact. Adding `magic` to a number rounds it to an integer, which is then in the
// low bits. Up to `lowest` the result is 0, above `highest` inf.
template <> struct ExpConstants<float> {
  static constexpr float lowest = -104.0f, highest = 89.0f, per_ln2 = 0x1.715476p+0f;
  static constexpr float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
  static constexpr float magic = 0x1.8p+23f, up = 0x1p+64f, down = 0x1p-64f;
  static constexpr int mantissa = 23, bias = 127, shift = 64;
  static constexpr float q[] = {0.49999994f, 0.16666521f, 0.04166839f, 0.008368745f, 0.001381454f};
};
template <> struct ExpConstants<double> {
  static constexpr double lowest = -745.25, highest = 710.0, per_ln2 = 0x1.71547652b82fep+0;
  static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
  static constexpr double magic = 0x1.8p+52, up = 0x1p+512, down = 0x1p-512;
  static constexpr int mantissa = 52, bias = 1023, shift = 512;
  static constexpr double q[] = {0x1.000000000000ap-1,  0x1.55555555554fap-3,  0x1.5555555550823p-5,
                                 0x1.1111111127c6dp-7,  0x1.6c16c1843dd38p-10, 0x1.a01a012a4abbfp-13,
                                 0x1.a01999d60452dp-16, 0x1.71df25223e18bp-19, 0x1.28ada5f19cfd5p-22,
                                 0x1.ad8036352c997p-26};
};

#if defined(VEC_X86) && VECTOR_BYTES == 64
// Returns a * 2^n. VSCALEF rounds to denormals and overflows as this multiplication would. The intrinsics are the
// zeroing forms, with all lanes on, because GCC 12 warns of the plain forms' undefined operand (GCC bug 105593).
VEC_INLINE Vectorized<float> scale(Vectorized<float> a, Vectorized<float> n)
{
  return Vectorized<float>::of(_mm512_maskz_scalef_ps(static_cast<__mmask16>(-1), a.v, n.v));
}
VEC_INLINE Vectorized<double> scale(Vectorized<double> a, Vectorized<double> n)
{
  return Vectorized<double>::of(_mm512_maskz_scalef_pd(static_cast<__mmask8>(-1), a.v, n.v));
}
#endif

// Returns exp(x) for x from `lowest` to `highest`, or NaN; unless `positive`, only for x <= 0.
template <bool positive, typename T> VEC_INLINE Vectorized<T> exp_in_range(Vectorized<T> x)
{
  using Vec = Vectorized<T>;
  using C = ExpConstants<T>;
  const Vec magic(C::magic);
#if VECTOR_BYTES == 0 && __FLT_EVAL_METHOD__ != 0
  const volatile T in_memory = x.v * C::per_ln2 + C::magic; // an x87 register has more bits and would not round
  const Vec rounded(in_memory);
#else
  const Vec rounded = fmadd(x, Vec(C::per_ln2), magic);
#endif
  const Vec n = rounded - magic;
  const Vec r = fmadd(n, Vec(-C::ln2_low), fmadd(n, Vec(-C::ln2_high), x));
  constexpr int degree = sizeof C::q / sizeof *C::q - 1;
  Vec q(C::q[degree]);
  for (int i = degree - 1; i >= 0; i--)
    q = fmadd(q, r, Vec(C::q[i]));
  // A product that underflows to 0 costs some CPUs a hundred cycles, and many elements are masked with -inf.
  const Vec e_r = Vec::blend(x <= Vec(C::lowest), Vec(T(0)), fmadd(r * r, q, r) + Vec(T(1)));
#if defined(VEC_X86) && VECTOR_BYTES == 64
  return scale(e_r, n);
#else
  // 2^n may be out of the range of exponents. So e_r is multiplied by 2^(n + shift) or 2^(n - shift), and then by the
  // inverse of 2^shift or 2^-shift. Only the second multiplication rounds.
  using B = BitsOf<T>;
  const Vectorized<B> exponent = as<B>(rounded) << C::mantissa;
  const Vectorized<B> more(static_cast<B>(B(C::bias + C::shift) << C::mantissa));
  if constexpr (positive) {
    const Vectorized<B> less(static_cast<B>(B(C::bias - C::shift) << C::mantissa));
    const Mask<T> negative = n < Vec(T(0));
    const Vectorized<B> offset = as<B>(Vec::blend(negative, as<T>(more), as<T>(less)));
    return e_r * as<T>(exponent + offset) * Vec::blend(negative, Vec(C::down), Vec(C::up));
  } else {
    return e_r * as<T>(exponent + more) * Vec(C::down);
  }
#endif
}

template <typename T> VEC_INLINE Vectorized<T> exp(Vectorized<T> x)
{
  const Vectorized<T> low(ExpConstants<T>::lowest), high(ExpConstants<T>::highest);
  return exp_in_range<true>(min_or_second(high, max_or_second(low, x)));
}

// Returns exp(x) for x <= 0 or NaN in fewer instructions, for softmax.
template <typename T> VEC_INLINE Vectorized<T> exp_of_nonpositive(Vectorized<T> x)
{
  return exp_in_range<false>(max_or_second(Vectorized<T>(ExpConstants<T>::lowest), x));
}

} // namespace
} // namespace vec

#endif
