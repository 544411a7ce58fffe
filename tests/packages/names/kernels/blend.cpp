#include "../names.h"

template <class T> NOINLINE T twice(T x)
{
  __asm__ volatile("");
  return x * 2;
}

static NOINLINE float dot(const float *data, size_t n)
{
  float sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += data[i] * data[i];
  return sum;
}

namespace {

struct counter {
  float value;
  NOINLINE float add(float x)
  {
    __asm__ volatile("");
    return value += x;
  }
};

NOINLINE float blend(float *data, size_t n)
{
  counter count = {0};
  for (size_t i = 0; i < n; i++)
    data[i] = twice(data[i]) - data[i]; // the tests' breakpoint
  return count.add(dot(data, n));
}

} // namespace

ISA_REGISTER_DISPATCH(blend_stub, &blend)
