#include "../everywhere.h"

#include <immintrin.h>

const char *row_x86(const int *data, int size, int *sum)
{
  __m256i all = _mm256_setzero_si256();
  int i, parts[8];
  row_any(data, size % 8, sum);
  for (i = size % 8; i < size; i += 8)
    all = _mm256_add_epi32(all, _mm256_loadu_si256((const void *)(data + i)));
  _mm256_storeu_si256((void *)parts, all);
  for (i = 0; i < 8; i++)
    *sum += parts[i];
  return "x86";
}
