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
  using Format = Fp16Floats;
  static vec::Vectorized<float> dot(vec::Vectorized<float> sum, Words a, Words b)
  {
    return fmadd(vec::as<float>(a), vec::as<float>(b), sum);
  }
};
using Kind = VectorKind<Dot>;

#endif

void matmul_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape, void *workspace)
{
  matmul_blocked<Kind>(c, a, b, *shape, workspace);
}

} // namespace

ISA_REGISTER_DISPATCH(matmul_fp16_stub, &matmul_fp16)
