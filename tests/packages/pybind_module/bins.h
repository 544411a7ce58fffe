// Counts of values in equal bins; a template that the compiler inlines into the module's functions.
#pragma once

#include <cstddef>
#include <vector>

struct Error
{
  int bins;
};

template <class T>
inline std::vector<long> count_bins(const T *values, std::size_t size, int bins, T low, T high)
{
  if (bins <= 0)
    throw Error{bins};
  std::vector<long> counts(static_cast<std::size_t>(bins));
  const T scale = static_cast<T>(bins) / (high - low);
  for (std::size_t i = 0; i < size; i++)
    if (values[i] >= low && values[i] < high)
      counts[static_cast<std::size_t>((values[i] - low) * scale)]++;
  return counts;
}

float sum_of(const float *values, std::size_t size);
