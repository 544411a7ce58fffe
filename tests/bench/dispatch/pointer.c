/* The bare pointer: hidden, and set where this file cannot see it. */
#include "variants.h"

extern __attribute__((visibility("hidden"))) uint64_t (*bare_pointer)(uint64_t x);

LOOP(loop_pointer, bare_pointer)
