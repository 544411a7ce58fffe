#include "../folds.h"

// Each level has its own number, which is computed at load.
extern "C" int rand(void);
static const int zero = rand() < 0;
static double run(const float *, size_t)
{
  return zero;
}

ISA_REGISTER_DISPATCH(starts, &run)
