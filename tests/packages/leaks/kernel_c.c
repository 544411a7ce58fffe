#include "leaks_c.h"
#include "stubs.h"

static int sorts_static(float *data, size_t n)
{
  qsort(data, n, sizeof *data, compare_static);
  return compared_by;
}

static int sorts_plain(float *data, size_t n)
{
  qsort(data, n, sizeof *data, compare_plain);
  return compared_by;
}

ISA_REGISTER_DISPATCH(c_static_stub, &sorts_static)
ISA_REGISTER_DISPATCH(c_plain_stub, &sorts_plain)
