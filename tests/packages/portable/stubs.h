#ifndef STUBS_H
#define STUBS_H

#include "isa_dispatch.h"

typedef long (*dot_fn)(const int *a, const int *b, int size);
ISA_DECLARE_DISPATCH(dot_fn, dot_stub)
ISA_DECLARE_DISPATCH(dot_fn, wide_dot_stub)

typedef const char *(*scale_fn)(int *a, int factor, int size);
ISA_DECLARE_DISPATCH(scale_fn, scale_stub)

#endif
