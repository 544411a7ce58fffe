// Compiled once per CPU level, to tell which copy runs.
#include "level.h"

static const char *level()
{
  return ISA_THIS_LEVEL;
}

ISA_REGISTER_DISPATCH(level_stub, &level)
