/* A test that calls the functions of levels by name, each on CPUs that have the level, and compares them with those of DEFAULT. */
#include "ops.h"
#include <stdio.h>

ISA_DEFINE_DISPATCH(scale)
ISA_DEFINE_DISPATCH(total)
ISA_DEFINE_DISPATCH(scale_source)
ISA_DEFINE_DISPATCH(total_source)

int main(void)
{
  int called = 0;
  float data[37], other[37];
  for (int i = 0; i < 37; i++)
    data[i] = other[i] = (float)i;
  scale_c(other, 3.0f, 37);
  (void)data;
#ifdef ISA_BUILT_AVX2
  if (isa_level_is_supported(ISA_LEVEL_AVX2)) {
    scale_avx2(data, 3.0f, 37);
    for (int i = 0; i < 37; i++)
      if (data[i] < other[i] || data[i] > other[i])
        return 1;
    called++;
  }
#endif
#ifdef ISA_BUILT_AVX512
  if (isa_level_is_supported(ISA_LEVEL_AVX512)) {
    if ((int)total_avx512(other, 37) != (int)total_c(other, 37))
      return 2;
    called++;
  }
#endif
  printf("%d of 2 functions called\n", called);
  return 0;
}
