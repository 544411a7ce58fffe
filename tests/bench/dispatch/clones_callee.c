/* The callee of target_clones, in a file of its own: it cannot be inlined. */
#include "step_body.h"

#include <stdint.h>

__attribute__((target_clones("avx2", "default"), visibility("hidden"))) uint64_t step_clones(uint64_t x);

uint64_t step_clones(uint64_t x) STEP_BODY(x)
