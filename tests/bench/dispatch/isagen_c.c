/* isagen's stub, called from C. */
#include "step.h"
#include "variants.h"

LOOP(loop_isagen_c, step_stub)
