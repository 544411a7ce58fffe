// The stubs of conversions between float32 and the 16-bit floats, which are passed as their bits.
//
// Pointers may have any alignment. `past_caches`: write without keeping the result in the caches.
#ifndef ISAGEN_KERNELS_STUBS_CONVERT_H
#define ISAGEN_KERNELS_STUBS_CONVERT_H

#include "isa_dispatch.h"

#include <stddef.h>
#include <stdint.h>

// dst[i] = src[i], rounded to nearest even; a NaN becomes quiet, and keeps its sign and the top of its payload.
typedef void (*narrow_fn)(uint16_t *dst, const float *src, size_t n, bool past_caches);
ISA_DECLARE_DISPATCH(narrow_fn, cvt_fp32_to_bf16_stub)
ISA_DECLARE_DISPATCH(narrow_fn, cvt_fp32_to_fp16_stub)

// dst[i] = src[i], exact; a NaN keeps its bits (from bfloat16) or becomes quiet (from fp16).
typedef void (*widen_fn)(float *dst, const uint16_t *src, size_t n, bool past_caches);
ISA_DECLARE_DISPATCH(widen_fn, cvt_bf16_to_fp32_stub)
ISA_DECLARE_DISPATCH(widen_fn, cvt_fp16_to_fp32_stub)

#endif
