/* The variants of this executable or library. The bare pointer calls the very function that the stub calls. */
#include "step.h"
#include "variants.h"

ISA_DEFINE_DISPATCH(step_stub)

extern __attribute__((visibility("hidden"))) uint64_t (*bare_pointer)(uint64_t x);
uint64_t (*bare_pointer)(uint64_t x);

const struct variant *variants(void)
{
  static struct variant list[5];
  bare_pointer = step_stub;
  list[0] = (struct variant){"bare pointer", loop_pointer};
  list[1] = (struct variant){"isagen, from C", loop_isagen_c};
  list[2] = (struct variant){"isagen, from C++", loop_isagen_cpp};
#ifdef HAVE_CLONES
  list[3] = (struct variant){"target_clones", loop_clones};
#endif
  return list;
}
