#include "stubs.h"

// A static initialiser that calls a stub: the stubs are set before it runs.
static const int early = scale_a_stub(2);

extern "C" int called_from_cpp()
{
  return early;
}
