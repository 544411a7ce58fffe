#ifndef STUBS_H
#define STUBS_H

#include "isa_dispatch.h"

typedef int (*scale_fn)(int value);
ISA_DECLARE_DISPATCH(scale_fn, scale_a_stub)
ISA_DECLARE_DISPATCH(scale_fn, scale_b_stub)

typedef const char *(*offset_fn)(int value, int *result);
ISA_DECLARE_DISPATCH(offset_fn, offset_stub)

#endif
