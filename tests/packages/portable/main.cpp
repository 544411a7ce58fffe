#include "stubs.h"

#include <stdio.h>

extern const long early; // a stub was called for it before main()

int main()
{
  int a[] = {1, 2, 3, 4}, b[] = {4, 3, 2, 1};
  const char *level = scale_stub(a, 10, 4);
  printf("%ld %ld %ld %s, in use: %s, built: %s, %u stubs:", early, dot_stub(a, b, 4), wide_dot_stub(b, b, 4),
         level, isa_level_name(isa_current_level()), isa_level_name(isa_highest_binary_level()), isa_stub_count());
  for (unsigned stub = 0; stub < isa_stub_count(); stub++)
    printf(" %s=%s", isa_stub_name(stub), isa_level_name((isa_level)isa_stub_level(stub)));
  printf("\n");
  return 0;
}
