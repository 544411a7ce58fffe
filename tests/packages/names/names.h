#ifndef NAMES_H
#define NAMES_H

#include "isa_dispatch.h"

#include <stddef.h>

#define NOINLINE __attribute__((noinline))

typedef float (*names_fn)(float *data, size_t n);
ISA_DECLARE_DISPATCH(names_fn, blend_stub)
ISA_DECLARE_DISPATCH(names_fn, scale_stub)

#endif
