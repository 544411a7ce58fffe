// Sum of float32: four vector accumulators, which hide the latency of the addition, and a scalar tail.
#include "stubs.h"
#include "vector_width.h"

#include <string.h>

#if defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_AVX512) || defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#define HAVE_VECTOR 1
#endif

namespace {

#if defined(CPU_CAPABILITY_AVX512)

using Vector = __m512;
Vector zero() { return _mm512_setzero_ps(); }
Vector load(const float *p) { return _mm512_loadu_ps(p); }
Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }

#elif defined(CPU_CAPABILITY_AVX2)

using Vector = __m256;
Vector zero() { return _mm256_setzero_ps(); }
Vector load(const float *p) { return _mm256_loadu_ps(p); }
Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }

#elif defined(HAVE_VECTOR)

using Vector = __m128;
Vector zero() { return _mm_setzero_ps(); }
Vector load(const float *p) { return _mm_loadu_ps(p); }
Vector add(Vector a, Vector b) { return _mm_add_ps(a, b); }

#endif

float sum(const float *src, size_t n)
{
  float total = 0;
  size_t i = 0;
#ifdef HAVE_VECTOR
  constexpr size_t width = sizeof(Vector) / sizeof(float);
  static_assert(sizeof(Vector) == VECTOR_BYTES, "vector_width.h and the vectors used here disagree");
  Vector a = zero(), b = zero(), c = zero(), d = zero();
  for (; n - i >= 4 * width; i += 4 * width) {
    a = add(a, load(src + i));
    b = add(b, load(src + i + width));
    c = add(c, load(src + i + 2 * width));
    d = add(d, load(src + i + 3 * width));
  }
  for (; n - i >= width; i += width)
    a = add(a, load(src + i));
  const Vector all = add(add(a, b), add(c, d));
  float lanes[width];
  memcpy(lanes, &all, sizeof lanes);
  for (size_t half = width / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; lane++)
      lanes[lane] += lanes[lane + half];
  total = lanes[0];
#endif
  for (; i < n; i++)
    total += src[i];
  return total;
}

} // namespace

ISA_REGISTER_DISPATCH(sum_stub, &sum)
