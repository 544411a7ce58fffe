// The stubs: each runs one of the leaks at the selected level, and returns the width of the code that ran.
#ifndef STUBS_H
#define STUBS_H

#include "isa_dispatch.h"

using leak_fn = int (*)(float *data, int n);

ISA_DECLARE_DISPATCH(leak_fn, sort_stub)
ISA_DECLARE_DISPATCH(leak_fn, method_stub)
ISA_DECLARE_DISPATCH(leak_fn, virtual_stub)
ISA_DECLARE_DISPATCH(leak_fn, table_stub)
ISA_DECLARE_DISPATCH(leak_fn, static_stub)
ISA_DECLARE_DISPATCH(leak_fn, throw_stub)        // throws a failure
ISA_DECLARE_DISPATCH(leak_fn, throw_lowest_stub) // the same, at the lowest level only
ISA_DECLARE_DISPATCH(leak_fn, catch_stub)        // catches what the lowest level throws
ISA_DECLARE_DISPATCH(leak_fn, lambda_stub)
ISA_DECLARE_DISPATCH(leak_fn, shared_stub)       // counts the calls

#endif
