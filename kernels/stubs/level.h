// The stubs that report the level of the copies that run.
#ifndef ISAGEN_KERNELS_STUBS_LEVEL_H
#define ISAGEN_KERNELS_STUBS_LEVEL_H

#include "isa_dispatch.h"

// Returns the number of elements of `type_size` bytes in a vector of the level.
typedef int (*vector_size_fn)(int type_size);
ISA_DECLARE_DISPATCH(vector_size_fn, vector_size_stub)

// Returns the name of the level whose copy runs.
typedef const char *(*level_name_fn)(void);
ISA_DECLARE_DISPATCH(level_name_fn, level_name_stub)

#endif
