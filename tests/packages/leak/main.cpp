#include "leak.h"

#include <cstdio>

ISA_DEFINE_DISPATCH(probe_stub)

// Prints the widths of the baseline's and of the kernel's code, the counters that both share, data that both wrote, the
// width of the kernel's virtual function, and a constant whose layout depends on the level.
int main()
{
  static float data[64];
  shared_counter = 40;
  count_calls(0);
  twice(data, 64);
  const answer first = probe_stub(data, 64);
  if (width_by_vtable(shape<int>()) != width_of_this_code(0))
    std::printf("the baseline runs a level's code ");
  std::printf("%d %d %d %d %.0f %d %d\n", width_of_this_code(0), first.width, first.shared, first.calls, data[63],
              first.vtable, first.sum);
}
