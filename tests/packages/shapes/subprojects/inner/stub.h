#pragma once
#include "isa_dispatch.h"
typedef const char *(*level_fn)(void);
ISA_DECLARE_DISPATCH(level_fn, level_stub)
