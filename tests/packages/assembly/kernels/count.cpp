// Kernels in C++ that know nothing of isagen, in a namespace.
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace counting {

static std::size_t count(const std::uint32_t *values, std::size_t count, std::uint32_t value)
{
  return static_cast<std::size_t>(std::count(values, values + count, value));
}

static int bits()
{
#if defined(CPU_CAPABILITY_AVX512)
  return 512;
#elif defined(CPU_CAPABILITY_AVX2)
  return 256;
#else
  return 128;
#endif
}

} // namespace counting
