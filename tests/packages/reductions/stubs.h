// The reductions of a one-dimensional array, one stub for each and type of element; NaN where there are too few values.
#ifndef STUBS_H
#define STUBS_H

#include <stddef.h>

#include "isa_dispatch.h"

// Element i is `stride` * i bytes after `first`. NaNs are left out, or make the result NaN where skipna is not set.
typedef double (*reduction_fn)(const void *first, size_t count, ptrdiff_t stride, bool skipna);
typedef double (*variance_fn)(const void *first, size_t count, ptrdiff_t stride, bool skipna, ptrdiff_t ddof);

ISA_DECLARE_DISPATCH(reduction_fn, mean_float_stub)
ISA_DECLARE_DISPATCH(reduction_fn, mean_double_stub)
ISA_DECLARE_DISPATCH(variance_fn, variance_float_stub)
ISA_DECLARE_DISPATCH(variance_fn, variance_double_stub)
ISA_DECLARE_DISPATCH(reduction_fn, skew_float_stub)
ISA_DECLARE_DISPATCH(reduction_fn, skew_double_stub)
ISA_DECLARE_DISPATCH(reduction_fn, kurtosis_float_stub)
ISA_DECLARE_DISPATCH(reduction_fn, kurtosis_double_stub)

#endif
