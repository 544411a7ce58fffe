// Reports the level of the copy that runs, and its vector width.
#include "stubs/level.h"
#include "vector_width.h"

namespace {

const char *level_name()
{
  return ISA_THIS_LEVEL;
}

int vector_size(int type_size)
{
  return VECTOR_BYTES > 0 ? VECTOR_BYTES / type_size : 1;
}

} // namespace

ISA_REGISTER_DISPATCH(level_name_stub, &level_name)
ISA_REGISTER_DISPATCH(vector_size_stub, &vector_size)
