/* isagen's stub. */
#ifndef STEP_H
#define STEP_H

#include "isa_dispatch.h"
#include "step_body.h"

#include <stdint.h>

typedef uint64_t (*step_fn)(uint64_t x);
ISA_DECLARE_DISPATCH(step_fn, step_stub)

#endif
