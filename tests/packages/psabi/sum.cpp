// Sum of floats in vectors as wide as the level has, then the rest one by one.
#include "sum.h"

#include <string.h>

namespace {

#if defined(__AVX512F__)
constexpr size_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr size_t vector_bytes = 32;
#else
constexpr size_t vector_bytes = 16;
#endif

typedef float Vector __attribute__((vector_size(vector_bytes)));
constexpr size_t lanes = vector_bytes / sizeof(float);

float sum(const float *elements, size_t length)
{
  const float *const end = elements + length;
  Vector accumulator = {};
  for (; static_cast<size_t>(end - elements) >= lanes; elements += lanes) {
    Vector next;
    memcpy(&next, elements, sizeof next);
    accumulator += next;
  }
  float total = 0;
  for (size_t lane = 0; lane < lanes; lane++)
    total += accumulator[lane];
  for (; elements != end; elements++)
    total += *elements;
  return total;
}

} // namespace

ISA_REGISTER_DISPATCH(sum_stub, &sum)
