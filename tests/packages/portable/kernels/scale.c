#include "../stubs.h"

static const char *scale(int *a, int factor, int size)
{
  int i;
  for (i = 0; i < size; i++)
    a[i] *= factor;
  return ISA_THIS_LEVEL;
}

ISA_REGISTER_DISPATCH(scale_stub, &scale)
