#include "near.h"

namespace {

long dot(const int *a, const int *b, int size)
{
  long sum = 0;
  for (int i = 0; i < size; i++)
    sum += product(a[i], b[i]);
  return sum;
}

} // namespace

ISA_REGISTER_DISPATCH(dot_stub, &dot)
ISA_REGISTER_DISPATCH(wide_dot_stub, &dot)
