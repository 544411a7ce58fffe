#ifdef _WIN32
#define WITHOUT_BUFFER /* GCC for Windows defines its initialisation in each object, and linkers refuse two */
#endif
#include "leaks.h"
#include "stubs.h"

namespace {

int throws(float *data, std::size_t)
{
  throw failure(data[0]);
}

} // namespace

ISA_REGISTER_DISPATCH(throw_lowest_stub, &throws)
