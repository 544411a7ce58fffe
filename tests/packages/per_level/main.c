/* Prints the level, the results, and the source of each function that ran. */
#include "ops.h"
#include <stdio.h>

ISA_DEFINE_DISPATCH(scale)
ISA_DEFINE_DISPATCH(total)
ISA_DEFINE_DISPATCH(scale_source)
ISA_DEFINE_DISPATCH(total_source)

int main(void)
{
  float data[37];
  for (int i = 0; i < 37; i++)
    data[i] = (float)i;
  scale(data, 2.0f, 37);
  printf("%s %g %g %s %s\n", isa_level_name(isa_current_level()), (double)data[36], (double)total(data, 37),
         scale_source(), total_source());
  return 0;
}
