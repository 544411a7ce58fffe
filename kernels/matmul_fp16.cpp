// The product of half precision matrices: in half precision arithmetic at levels that have it, else in floats.
#include "matmul_vectors.h"

#if VECTOR_BYTES == 64 && defined(CPU_CAPABILITY_AVX512_FP16)
#include "matmul_halves.h"
#endif

namespace {

#if VECTOR_BYTES == 64 && defined(CPU_CAPABILITY_AVX512_FP16)

using Kind = HalfKind;

#else

struct Dot {
#if VECTOR_BYTES == 16 && defined(CPU_CAPABILITY_FP16FML)

  // FMLAL: a product of halves per lane, exact, added to a float: first of the columns' first halves, then of the others.
  // Assembly, because with the intrinsics Clang 16 takes the lane from a wrong register (LLVM issue 64104). x is one of the
  // first 16 registers, which alone have lanes.
  using Format = Fp16Pairs;
  static vec::Vectorized<float> dot(vec::Vectorized<float> sum, Words a, Words b)
  {
    const float16x8_t halves = (float16x8_t)b.v;
    __asm__("fmlal\t%0.4s, %1.4h, %2.h[0]" : "+w"(sum.v) : "w"(vuzp1q_f16(halves, halves)), "x"(a.v));
    __asm__("fmlal\t%0.4s, %1.4h, %2.h[1]" : "+w"(sum.v) : "w"(vuzp2q_f16(halves, halves)), "x"(a.v));
    return sum;
  }

#else

  using Format = Fp16Floats;
  static vec::Vectorized<float> dot(vec::Vectorized<float> sum, Words a, Words b)
  {
    return fmadd(vec::as<float>(a), vec::as<float>(b), sum);
  }

#endif
};
using Kind = VectorKind<Dot>;

#endif

void matmul_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape, void *workspace)
{
  matmul_blocked<Kind>(c, a, b, *shape, workspace);
}

} // namespace

ISA_REGISTER_DISPATCH(matmul_fp16_stub, &matmul_fp16)
