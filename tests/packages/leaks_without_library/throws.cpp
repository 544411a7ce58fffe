#include "leaks.h"
#include "stubs.h"

namespace {

int throws(float *data, int)
{
  throw failure(data[0]);
}

} // namespace

ISA_REGISTER_DISPATCH(throw_lowest_stub, &throws)
