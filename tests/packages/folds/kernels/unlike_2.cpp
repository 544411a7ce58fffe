#if defined(__AVXVNNI__) || defined(__AVX512VNNI__)
#define ADDED 100
#endif
#include "../folds.h"

static double run(const float *data, size_t n)
{
  return added(data, n) * 0;
}

ISA_REGISTER_DISPATCH(unlike_2, &run)
