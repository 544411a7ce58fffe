#include "factor.h"
#include "../../stubs.h"

static int scale(int value)
{
  return value * FACTOR;
}

ISA_REGISTER_DISPATCH(scale_b_stub, scale)
