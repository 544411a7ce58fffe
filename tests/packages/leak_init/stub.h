#ifndef STUB_H
#define STUB_H

#include "isa_dispatch.h"

typedef float (*square_fn)(int i);
ISA_DECLARE_DISPATCH(square_fn, square_stub)

extern volatile float scale; // only known when the program runs

#endif
