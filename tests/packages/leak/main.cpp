#include "leak.h"

#include <cstdio>

ISA_DEFINE_DISPATCH(probe_stub)

// Prints: width of the baseline's code, width of the kernel's, and twice the counters that both share.
int main()
{
  static float data[64];
  shared_counter = 40;
  count_calls(0);
  twice(data, 64);
  const answer first = probe_stub(data, 64);
  std::printf("%d %d %d %d %.0f\n", width_of_this_code(0), first.width, first.shared, first.calls, data[63]);
}
