/* The stubs: each runs one of the leaks at the selected level, and returns the width of the code that ran. */
#ifndef STUBS_H
#define STUBS_H

#include "isa_dispatch.h"

#include <stddef.h>

typedef int (*leak_fn)(float *data, size_t n);

ISA_DECLARE_DISPATCH(leak_fn, sort_stub)
ISA_DECLARE_DISPATCH(leak_fn, growth_stub)
ISA_DECLARE_DISPATCH(leak_fn, method_stub)
ISA_DECLARE_DISPATCH(leak_fn, table_stub)
ISA_DECLARE_DISPATCH(leak_fn, thread_local_stub)
ISA_DECLARE_DISPATCH(leak_fn, throw_stub)        /* throws a failure */
ISA_DECLARE_DISPATCH(leak_fn, throw_lowest_stub)  /* the same, at the lowest level only */
ISA_DECLARE_DISPATCH(leak_fn, catch_stub)        /* catches what the lowest level throws */
ISA_DECLARE_DISPATCH(leak_fn, lambda_stub)
ISA_DECLARE_DISPATCH(leak_fn, c_static_stub)
ISA_DECLARE_DISPATCH(leak_fn, c_plain_stub)

#endif
