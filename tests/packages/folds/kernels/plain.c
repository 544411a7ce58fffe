#include "../folds.h"

static double run(const float *data, size_t n)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += data[i];
  return sum;
}

ISA_REGISTER_DISPATCH(plain, &run)
