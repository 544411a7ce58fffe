#include "../folds.h"

static double run(const float *, size_t)
{
  return calls_so_far<float>();
}

ISA_REGISTER_DISPATCH(shared_variable, &run)
