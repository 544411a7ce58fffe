/* Defines the stub. */
#include "level.h"

ISA_DEFINE_DISPATCH(level_stub)
