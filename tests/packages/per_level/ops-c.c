/* All operations, for any CPU. */
#include "ops.h"

void scale_c(float *data, float factor, size_t n)
{
  for (size_t i = 0; i < n; i++)
    data[i] *= factor;
}

float total_c(const float *data, size_t n)
{
  float sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += data[i];
  return sum;
}

const char *scale_source_c(void)
{
  return __FILE__;
}

const char *total_source_c(void)
{
  return __FILE__;
}
