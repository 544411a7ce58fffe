// The stubs of all kernels.
#ifndef STUBS_H
#define STUBS_H

#include <stddef.h>
#include <stdint.h>

#include "isa_dispatch.h"

typedef uint32_t (*sum_fn)(const uint32_t *values, size_t count);
typedef void (*scale_fn)(uint32_t *values, size_t count, uint32_t factor);
typedef size_t (*count_fn)(const uint32_t *values, size_t count, uint32_t value);
typedef int (*bits_fn)(void);

ISA_DECLARE_DISPATCH(sum_fn, sum_stub)
ISA_DECLARE_DISPATCH(scale_fn, scale_stub)
ISA_DECLARE_DISPATCH(count_fn, count_stub)
ISA_DECLARE_DISPATCH(bits_fn, bits_stub)

#endif
