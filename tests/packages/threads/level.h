/* A stub that returns the level of the copy that runs. */
#ifndef LEVEL_H
#define LEVEL_H

#include "isa_dispatch.h"

typedef const char *(*level_fn)(void);
ISA_DECLARE_DISPATCH(level_fn, level_stub)

#endif
