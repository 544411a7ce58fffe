#include "../folds.h"

static double run(const float *data, size_t n)
{
  double sum = data[0] + n;
  for (const char *letter = ISA_THIS_LEVEL; *letter; letter++)
    sum = 3 * sum + *letter;
  return sum;
}

ISA_REGISTER_DISPATCH(names, &run)
