/* A C source of the module, which is compiled at the same level as its Cython source. */
#include "level.h"
#include "isa_dispatch.h"

const char *level_of_helper(void)
{
  return ISA_THIS_LEVEL;
}
