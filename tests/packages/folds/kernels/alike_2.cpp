#include "../folds.h"

static double run(const float *data, size_t n)
{
  return total(data, n) + 2;
}

ISA_REGISTER_DISPATCH(alike_2, &run)
