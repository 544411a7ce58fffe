/* A stub that tells the level whose copy runs. */
#ifndef LEVEL_H
#define LEVEL_H

#include "isa_dispatch.h"

typedef const char *(*level_fn)(void);
ISA_DECLARE_DISPATCH(level_fn, level_stub)

#endif
