// The product of bfloat16 matrices: dot products of pairs at levels that have them, else of floats.
#include "matmul_vectors.h"

#if defined(CPU_CAPABILITY_AMX)
#include "matmul_tiles.h"
#endif

namespace {

using vec::Vectorized;

struct Dot {
#if VECTOR_BYTES == 64 && defined(CPU_CAPABILITY_AVX512_BF16)

  // VDPBF16PS: two products per lane. It treats denormals as zero.
  using Format = Bf16Pairs;
  static Vectorized<float> dot(Vectorized<float> sum, Words a, Words b)
  {
#if defined(__clang__)
    // Clang 16 crashes (stack overflow) if it knows that all lanes hold the same word.
    __asm__("" : "+v"(a.v));
#endif
    return Vectorized<float>::of(_mm512_dpbf16_ps(sum.v, (__m512bh)a.v, (__m512bh)b.v));
  }

#elif VECTOR_BYTES == 32 && defined(CPU_CAPABILITY_SVE256)

  // BFMMLA: four products per lane. It treats denormals as zero.
  using Format = Bf16Pairs;
  static Vectorized<float> dot(Vectorized<float> sum, Words a, Words b)
  {
    return Vectorized<float>::of((Vectorized<float>::Raw)(Sums)svbfmmla_f32((Sums)sum.v, (Parts)a.v, (Parts)b.v));
  }

  typedef svfloat32_t Sums __attribute__((arm_sve_vector_bits(256)));
  typedef svbfloat16_t Parts __attribute__((arm_sve_vector_bits(256)));

#elif VECTOR_BYTES == 16 && defined(CPU_CAPABILITY_BF16)

  // The same.
  using Format = Bf16Pairs;
  static Vectorized<float> dot(Vectorized<float> sum, Words a, Words b)
  {
    return Vectorized<float>::of(vbfmmlaq_f32(sum.v, (bfloat16x8_t)a.v, (bfloat16x8_t)b.v));
  }

#else

  using Format = Bf16Floats;
  static Vectorized<float> dot(Vectorized<float> sum, Words a, Words b)
  {
    return fmadd(vec::as<float>(a), vec::as<float>(b), sum);
  }

#endif
};

#if defined(CPU_CAPABILITY_AMX)
using Kind = TileKind<Bf16Pairs>;
#elif VECTOR_BYTES > 0 && defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
using Kind = VectorKind<Dot, 2>;
#else
using Kind = VectorKind<Dot>;
#endif

void matmul_bf16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape, void *workspace)
{
  matmul_blocked<Kind>(c, a, b, *shape, workspace);
}

} // namespace

ISA_REGISTER_DISPATCH(matmul_bf16_stub, &matmul_bf16)
