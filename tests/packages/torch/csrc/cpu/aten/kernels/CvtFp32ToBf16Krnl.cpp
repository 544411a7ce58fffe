#include <ATen/cpu/vec/vec.h>

#include "csrc/cpu/aten/CvtFp32ToBf16.h"

namespace torch_ipex {
namespace cpu {

namespace {

#if defined(CPU_CAPABILITY_AVX512)
#include <ATen/cpu/vec/vec512/vec512.h>
#else
#include <ATen/cpu/vec/vec256/vec256.h>
#endif
using namespace at::vec;

#if defined(CPU_CAPABILITY_AVX512)
#include <immintrin.h>

inline __m256i _cvt_fp32_to_bf16(const __m512 src) {
#if (defined CPU_CAPABILITY_AVX512_BF16) // AVX512_BF16 ISA implementation.
  return reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(src));
#else // AVX512 ISA implementation.
  // Round to nearest, ties to even: add 0x7fff, and the lowest bit that stays, then cut 16 bits off.
  const __m512i bits = _mm512_castps_si512(src);
  const __m512i lsb = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i bias = _mm512_add_epi32(lsb, _mm512_set1_epi32(0x7fff));
  const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, bias), 16);
  // The bias could turn a NaN into an infinity, or into a zero.
  const auto ordered = _mm512_cmp_ps_mask(src, src, _CMP_ORD_Q);
  return _mm512_cvtusepi32_epi16(_mm512_mask_blend_epi32(ordered, _mm512_set1_epi32(0xffff), rounded));
#endif
}

void cvt_fp32_to_bf16_kernel_impl(at::BFloat16* dst, const float* src, int len) {
  int i = 0;
  for (; i < len - 15; i += 16) {
    auto f32 = _mm512_loadu_ps(src + i);
    _mm256_storeu_si256((__m256i*)(dst + i), _cvt_fp32_to_bf16(f32));
  }
  if (i < len) {
    auto mask = (1 << (len - i)) - 1;
    auto f32 = _mm512_maskz_loadu_ps(mask, src + i);
    _mm256_mask_storeu_epi16(dst + i, mask, _cvt_fp32_to_bf16(f32));
  }
}

#else // DEFAULT ISA implementation.

void cvt_fp32_to_bf16_kernel_impl(at::BFloat16* dst, const float* src, int len) {
  for (int j = 0; j < len; j++) {
    *(dst + j) = *(src + j);
  }
}

#endif

} // anonymous namespace

IPEX_REGISTER_DISPATCH(cvt_fp32_to_bf16_kernel_stub, &cvt_fp32_to_bf16_kernel_impl);

} // namespace cpu
} // namespace torch_ipex
