#pragma once
#include "isa_dispatch.h"

typedef unsigned (*work_fn)(unsigned seed);
ISA_DECLARE_DISPATCH(work_fn, faster_stub)
ISA_DECLARE_DISPATCH(work_fn, neither_stub)
ISA_DECLARE_DISPATCH(work_fn, slower_stub)

/* Steps that depend on each other: no compiler makes them faster at a level. */
static inline unsigned work(unsigned value, unsigned steps)
{
  for (unsigned i = 0; i < steps; i++)
    value = value * 1664525u + (value >> 7) + i;
  return value;
}
