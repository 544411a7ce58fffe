/* GCC's target_clones: an ifunc, called through the procedure linkage table or the global offset table. */
#include "variants.h"

extern __attribute__((visibility("hidden"))) uint64_t step_clones(uint64_t x);

LOOP(loop_clones, step_clones)
