/* isagen's kernel: compiled once per CPU level. */
#include "step.h"

static uint64_t step(uint64_t x) STEP_BODY(x)

ISA_REGISTER_DISPATCH(step_stub, &step)
