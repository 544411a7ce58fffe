#include "names.h"

#include <stdio.h>
#include <stdlib.h>

ISA_DEFINE_DISPATCH(blend_stub)
ISA_DEFINE_DISPATCH(scale_stub)

// Runs the kernels as often as the argument says, and prints the level.
int main(int count, char **words)
{
  static float data[512] = {1};
  float result = 0;
  for (int i = count > 1 ? atoi(words[1]) : 1; i > 0; i--)
    result += blend_stub(data, 512) + scale_stub(data, 512);
  printf("%s %g\n", isa_level_name(isa_current_level()), (double)result);
  return 0;
}
