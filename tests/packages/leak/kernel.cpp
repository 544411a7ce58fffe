#include "leak.h"

namespace {

answer probe(float *data, std::size_t n)
{
  twice(data, n);
  return {width_of_this_code(0), ++shared_counter, count_calls(0)};
}

} // namespace

ISA_REGISTER_DISPATCH(probe_stub, &probe)
