#include "../folds.h"

static double run(const float *data, size_t n)
{
  return added(data, n);
}

ISA_REGISTER_DISPATCH(unlike_1, &run)
