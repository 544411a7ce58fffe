// The stubs of the generated kernels.
#ifndef STUBS_H
#define STUBS_H

#include <cstddef>

#include "isa_dispatch.h"

using scale_float_fn = void (*)(float *values, std::size_t count, double factor);
using scale_double_fn = void (*)(double *values, std::size_t count, double factor);
using clip_float_fn = void (*)(float *values, std::size_t count, double low, double high);
using clip_double_fn = void (*)(double *values, std::size_t count, double low, double high);
using number_fn = int (*)(void);
using offset_fn = int (*)(int x);

ISA_DECLARE_DISPATCH(scale_float_fn, scale_float_stub)
ISA_DECLARE_DISPATCH(scale_double_fn, scale_double_stub)
ISA_DECLARE_DISPATCH(clip_float_fn, clip_float_stub)
ISA_DECLARE_DISPATCH(clip_double_fn, clip_double_stub)
ISA_DECLARE_DISPATCH(number_fn, bias_stub)
ISA_DECLARE_DISPATCH(number_fn, bits_stub)
ISA_DECLARE_DISPATCH(offset_fn, offset_stub)

#endif
