/* Scaling by hand, for AVX2. The compiler would refuse this source at a lower level. */
#include "ops.h"
#include <immintrin.h>

void scale_avx2(float *data, float factor, size_t n)
{
  const __m256 factors = _mm256_set1_ps(factor);
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(data + i, _mm256_mul_ps(_mm256_loadu_ps(data + i), factors));
  scale_c(data + i, factor, n - i);
}

const char *scale_source_avx2(void)
{
  return __FILE__;
}
