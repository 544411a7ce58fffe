#ifndef SUM_H
#define SUM_H

#include "isa_dispatch.h"

#include <stddef.h>

typedef float (*sum_fn)(const float *elements, size_t length);
ISA_DECLARE_DISPATCH(sum_fn, sum_stub)

#endif
