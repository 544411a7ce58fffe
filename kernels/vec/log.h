// log of normal numbers in a Vectorized<float>.
//
// x = 2^e * m with sqrt(1/2) <= m < sqrt(2), f = m - 1, and log(m) = f - f^2/2 + f^3 * p(f). The coefficients of p
// minimise the largest relative error of log(m) (Lawson's iteration in 80-bit arithmetic): 2^-30.3.
#ifndef ISAGEN_KERNELS_VEC_LOG_H
#define ISAGEN_KERNELS_VEC_LOG_H

#include "base.h"
#include "convert.h"

namespace vec {
namespace {

// Returns log(x) for positive, normal and finite x, within 2 units in the last place, and NaN for NaN. log(1) is 0.
VEC_INLINE Vectorized<float> log_of_normal(Vectorized<float> x)
{
  using F = Vectorized<float>;
  using I = Vectorized<int32_t>;
  constexpr int32_t root = 0x3f3504f3; // the bits of sqrt(1/2)
  constexpr float p[] = {0.33333313f, -0.2500001f,  0.20002127f,  -0.16668013f, 0.14219376f,
                         -0.12405149f, 0.118891075f, -0.116789475f, 0.06748568f};
  const I exponent = (as<int32_t>(x) - I(root)) >> 23;
  const F f = as<float>(as<int32_t>(x) - (exponent << 23)) - F(1.0f), e = to_float(exponent), f2 = f * f;
  F q(p[8]);
  for (int i = 7; i >= 0; i--)
    q = fmadd(q, f, F(p[i]));
  // The smallest terms are added first. ln 2 is split so that e * 0x1.63p-1 is exact.
  const F small = fmadd(f2 * f, q, fmadd(e, F(-0x1.bd0106p-13f), f2 * F(-0.5f)));
  return F::blend(x != x, x, fmadd(e, F(0x1.63p-1f), f + small));
}

} // namespace
} // namespace vec

#endif
