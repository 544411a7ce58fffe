/* What the driver measures: loops of `calls` calls that each wait for the one before. */
#ifndef VARIANTS_H
#define VARIANTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct variant {
  const char *name;
  uint64_t (*loop)(uint64_t calls);
};

#define EXPORT __attribute__((visibility("default")))
#define LOOP(name, call) \
  uint64_t name(uint64_t calls) \
  { \
    uint64_t i, x = 0; \
    for (i = 0; i < calls; i++) \
      x = call(x); \
    return x; \
  }

/* Ends with an entry without a name. */
EXPORT const struct variant *variants(void);

uint64_t loop_pointer(uint64_t calls);
uint64_t loop_isagen_c(uint64_t calls);
uint64_t loop_isagen_cpp(uint64_t calls);
uint64_t loop_clones(uint64_t calls);

#ifdef __cplusplus
}
#endif

#endif
