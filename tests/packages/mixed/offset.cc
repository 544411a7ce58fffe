#include "stubs.h"

namespace {

// EXTRA comes from isa.toml, for this kernel only.
const char *offset(int value, int *result)
{
  *result = value + EXTRA;
  return ISA_THIS_LEVEL;
}

} // namespace

ISA_REGISTER_DISPATCH(offset_stub, &offset)
