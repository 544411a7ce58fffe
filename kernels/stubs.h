// The stubs of the reference kernels: function pointers that are set once, when the extension is loaded.
#ifndef ISAGEN_KERNELS_STUBS_H
#define ISAGEN_KERNELS_STUBS_H

#include "isa_dispatch.h"

#include <stddef.h>
#include <stdint.h>

// dst[i] = src[i] as bfloat16 bits, rounded to nearest even; a NaN stays a (quiet) NaN of the same sign and top payload.
typedef void (*cvt_fp32_to_bf16_fn)(uint16_t *dst, const float *src, size_t n);
ISA_DECLARE_DISPATCH(cvt_fp32_to_bf16_fn, cvt_fp32_to_bf16_stub)

// The sum of src[0] .. src[n - 1], in an order that depends on the vector width.
typedef float (*sum_fn)(const float *src, size_t n);
ISA_DECLARE_DISPATCH(sum_fn, sum_stub)

// The number of elements of `type_size` bytes in a vector of the level.
typedef int (*vector_size_fn)(int type_size);
ISA_DECLARE_DISPATCH(vector_size_fn, vector_size_stub)

// The name of the level whose copy runs.
typedef const char *(*level_name_fn)(void);
ISA_DECLARE_DISPATCH(level_name_fn, level_name_stub)

#endif
