// float32 to bfloat16, in three forms: one instruction (AVX512_BF16), its arithmetic in vectors (AVX512), or scalar.
//
// All forms give the same bits. VCVTNEPS2BF16 alone would flush denormals to zero (Intel SDM vol. 2, "VCVTNEPS2BF16"), so
// vectors that hold one take the arithmetic form.
#include "stubs.h"

#if defined(CPU_CAPABILITY_AVX512)
#include <immintrin.h>
#endif

#include <string.h>

namespace {

#if defined(CPU_CAPABILITY_AVX512)

// Adding 0x7fff, and 1 if the lowest kept bit is set, rounds to nearest even when the low half is cut off.
__m256i round_in_vectors(__m512 value)
{
  const __m512i bits = _mm512_castps_si512(value);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
  const __m512i quiet_nan = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet_nan), 16));
}

__m256i convert(__m512 value)
{
#if defined(CPU_CAPABILITY_AVX512_BF16)
  constexpr int denormal = 0x20;
  if (_mm512_fpclass_ps_mask(value, denormal) == 0)
    return (__m256i)_mm512_cvtneps_pbh(value);
#endif
  return round_in_vectors(value);
}

void cvt_fp32_to_bf16(uint16_t *dst, const float *src, size_t n)
{
  size_t i = 0;
  for (; n - i >= 16; i += 16)
    _mm256_storeu_si256((__m256i *)(dst + i), convert(_mm512_loadu_ps(src + i)));
  if (i < n) {
    const __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    _mm256_mask_storeu_epi16(dst + i, rest, convert(_mm512_maskz_loadu_ps(rest, src + i)));
  }
}

#else

void cvt_fp32_to_bf16(uint16_t *dst, const float *src, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, src + i, sizeof bits);
    const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
    const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
    dst[i] = (uint16_t)((is_nan ? bits | 0x400000 : rounded) >> 16);
  }
}

#endif

} // namespace

ISA_REGISTER_DISPATCH(cvt_fp32_to_bf16_stub, &cvt_fp32_to_bf16)
