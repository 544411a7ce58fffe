#include "leaks.h"
#include "stubs.h"

namespace {

int sorts(float *data, int n) { return sort_width(data, n); }
int applies(float *data, int n) { return polynomial().apply(data, n); }
int calls(float *, int) { return virtual_width(square()); }
int looks_up(float *, int) { return table_width(2); }
int touches(float *, int) { return static_width(); }
int throws(float *data, int) { throw failure(data[0]); }
int maps(float *data, int n) { return lambda_width(data, n); }
int counts(float *, int) { return counted(); }

// Catches another level's exception by its base class and by its own.
int catches(float *data, int n)
{
  int own = failure_width(data);
  try {
    throw_lowest_stub(data, n);
  } catch (const failure &caught) {
    return caught.width() == 128 ? own : -1;
  }
  return -1;
}

} // namespace

ISA_REGISTER_DISPATCH(sort_stub, &sorts)
ISA_REGISTER_DISPATCH(method_stub, &applies)
ISA_REGISTER_DISPATCH(virtual_stub, &calls)
ISA_REGISTER_DISPATCH(table_stub, &looks_up)
ISA_REGISTER_DISPATCH(static_stub, &touches)
ISA_REGISTER_DISPATCH(throw_stub, &throws)
ISA_REGISTER_DISPATCH(catch_stub, &catches)
ISA_REGISTER_DISPATCH(lambda_stub, &maps)
ISA_REGISTER_DISPATCH(shared_stub, &counts)
