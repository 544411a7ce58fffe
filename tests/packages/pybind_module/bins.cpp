// The second source of the module: a reduction that takes vectors.
#include "bins.h"

float sum_of(const float *values, std::size_t size)
{
  float lanes[16] = {};
  std::size_t i = 0;
  for (; i + 16 <= size; i += 16)
    for (int k = 0; k < 16; k++)
      lanes[k] += values[i + static_cast<std::size_t>(k)];
  for (; i < size; i++)
    lanes[i % 16] += values[i];
  float total = 0;
  for (float lane : lanes)
    total += lane;
  return total;
}
