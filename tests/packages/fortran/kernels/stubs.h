// The stubs of the Fortran kernels, with the types of their bind(c) interfaces.
#ifndef STUBS_H
#define STUBS_H

#include <stddef.h>

#include "isa_dispatch.h"

typedef void (*axpy_fn)(size_t n, float a, const float *x, float *y);
typedef void (*text_fn)(char *text, size_t size);
typedef double (*dot_fn)(size_t n, const float *x, const float *y);
typedef int (*number_fn)(void);
typedef void (*total_fn)(int n, const float *x, float *sum);

ISA_DECLARE_DISPATCH(axpy_fn, axpy_stub)
ISA_DECLARE_DISPATCH(text_fn, text_stub)
ISA_DECLARE_DISPATCH(dot_fn, dot_stub)
ISA_DECLARE_DISPATCH(number_fn, bits_stub)
ISA_DECLARE_DISPATCH(number_fn, level_calls_stub)
ISA_DECLARE_DISPATCH(total_fn, total_stub)

#endif
