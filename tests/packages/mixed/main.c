#include "stubs.h"

#include <stdio.h>

ISA_DEFINE_DISPATCH(scale_a_stub)
ISA_DEFINE_DISPATCH(scale_b_stub)
ISA_DEFINE_DISPATCH(offset_stub)

int called_from_cpp(void);

int main(void)
{
  int result;
  const char *level = offset_stub(1, &result);
  printf("%d %d %d %s %s %d\n", scale_a_stub(7), scale_b_stub(7), result, level, isa_level_name(isa_current_level()),
         called_from_cpp());
  return 0;
}
