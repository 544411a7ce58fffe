// A C++ static initialiser that calls the stub.
#include "level.h"

#include "race.h"

static const char *const in_initialiser = level_stub();

extern "C" const char *level_in_initialiser()
{
  return in_initialiser;
}
