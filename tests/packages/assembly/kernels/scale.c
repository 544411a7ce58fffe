// A kernel in C that knows nothing of isagen; its function may be static.
#include <stddef.h>
#include <stdint.h>

static void scale(uint32_t *values, size_t count, uint32_t factor)
{
  for (size_t i = 0; i < count; ++i)
    values[i] *= factor;
}
