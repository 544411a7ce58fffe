#include "leaks.h"
#include "stubs.h"

namespace {

int sorts(float *data, std::size_t n) { return sort_width(data, n); }
int grows(float *data, std::size_t n) { return growth_width(data, n); }
int applies(float *data, std::size_t n) { return polynomial().apply(data, n); }
int looks_up(float *, std::size_t) { return table_width(2); }
int touches(float *, std::size_t) { return buffer_width(); }
int throws(float *data, std::size_t) { throw failure(data[0]); }
int maps(float *data, std::size_t n) { return lambda_width(data, n); }

// Catches another level's exception by its base class and by its own.
int catches(float *data, std::size_t n)
{
  int own = failure_width(data);
  try {
    throw_lowest_stub(data, n);
  } catch (const failure &caught) {
    return caught.width == 128 ? own : -1;
  }
  return -1;
}

} // namespace

ISA_REGISTER_DISPATCH(sort_stub, &sorts)
ISA_REGISTER_DISPATCH(growth_stub, &grows)
ISA_REGISTER_DISPATCH(method_stub, &applies)
ISA_REGISTER_DISPATCH(table_stub, &looks_up)
ISA_REGISTER_DISPATCH(thread_local_stub, &touches)
ISA_REGISTER_DISPATCH(throw_stub, &throws)
ISA_REGISTER_DISPATCH(catch_stub, &catches)
ISA_REGISTER_DISPATCH(lambda_stub, &maps)
