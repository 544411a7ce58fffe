#include "leak.h"

namespace {

answer probe(float *data, std::size_t n)
{
  twice(data, n);
  int sum = 0;
  for (const volatile int &lane : threes.value)
    sum += lane;
  return {width_of_this_code(0), ++shared_counter, count_calls(0), width_by_vtable(shape<int>()), sum / LANES};
}

} // namespace

ISA_REGISTER_DISPATCH(probe_stub, &probe)
