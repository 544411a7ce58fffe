/* Sums by hand, for AVX-512. */
#include "ops.h"
#include <immintrin.h>

float total_avx512(const float *data, size_t n)
{
  __m512 sums = _mm512_setzero_ps();
  for (size_t i = 0; i < n; i += 16) {
    const __mmask16 mask = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xffff;
    sums = _mm512_add_ps(sums, _mm512_maskz_loadu_ps(mask, data + i));
  }
  return _mm512_reduce_add_ps(sums);
}

const char *total_source_avx512(void)
{
  return __FILE__;
}
