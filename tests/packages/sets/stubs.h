#pragma once
#include "isa_dispatch.h"
typedef const char *(*level_fn)(void);
ISA_DECLARE_DISPATCH(level_fn, mean_stub)
ISA_DECLARE_DISPATCH(level_fn, conf_stub)
ISA_DECLARE_DISPATCH(level_fn, custom_stub)
ISA_DECLARE_DISPATCH(level_fn, run_stub)
