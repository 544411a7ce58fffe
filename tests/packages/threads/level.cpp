// Compiled once per CPU level; returns the level of the copy that runs.
#include "level.h"

static const char *level()
{
  return ISA_THIS_LEVEL;
}

ISA_REGISTER_DISPATCH(level_stub, &level)
