// The product of unsigned and signed bytes, with the level's widest dot product instruction.
#include "matmul_vectors.h"

#if defined(CPU_CAPABILITY_AMX)
#include "matmul_tiles.h"
#endif

namespace {

struct Dot {
#if VECTOR_BYTES == 64 && defined(CPU_CAPABILITY_AVX512_VNNI)

  // VPDPBUSD: four products of bytes per lane, without saturation.
  using Format = U8S8Bytes;
  static Words dot(Words sum, Words a, Words b)
  {
    return Words::of((Words::Raw)_mm512_dpbusd_epi32((__m512i)sum.v, (__m512i)a.v, (__m512i)b.v));
  }

#elif VECTOR_BYTES == 32 && defined(CPU_CAPABILITY_AVX2_VNNI)

  // The same.
  using Format = U8S8Bytes;
  static Words dot(Words sum, Words a, Words b)
  {
    return Words::of((Words::Raw)_mm256_dpbusd_avx_epi32((__m256i)sum.v, (__m256i)a.v, (__m256i)b.v));
  }

#elif defined(VEC_X86)

  // VPMADDWD: two products of 16-bit integers per lane. VPMADDUBSW takes bytes, but saturates sums at 16 bits, which
  // 2 * 255 * 127 exceeds.
  using Format = U8S8Pairs;
  static Words dot(Words sum, Words a, Words b)
  {
#if VECTOR_BYTES == 64
    return sum + Words::of((Words::Raw)_mm512_madd_epi16((__m512i)a.v, (__m512i)b.v));
#elif VECTOR_BYTES == 32
    return sum + Words::of((Words::Raw)_mm256_madd_epi16((__m256i)a.v, (__m256i)b.v));
#else
    return sum + Words::of((Words::Raw)_mm_madd_epi16((__m128i)a.v, (__m128i)b.v));
#endif
  }

#elif VECTOR_BYTES == 32 && defined(CPU_CAPABILITY_SVE256)

  // USMMLA: eight products of bytes per lane.
  using Format = U8S8Bytes;
  static Words dot(Words sum, Words a, Words b)
  {
    return Words::of((Words::Raw)(Sums)svusmmla_s32((Sums)sum.v, (Unsigned)a.v, (Signed)b.v));
  }

  typedef svint32_t Sums __attribute__((arm_sve_vector_bits(256)));
  typedef svuint8_t Unsigned __attribute__((arm_sve_vector_bits(256)));
  typedef svint8_t Signed __attribute__((arm_sve_vector_bits(256)));

#elif VECTOR_BYTES == 16 && defined(CPU_CAPABILITY_I8MM)

  // The same.
  using Format = U8S8Bytes;
  static Words dot(Words sum, Words a, Words b)
  {
    return Words::of((Words::Raw)vusmmlaq_s32((int32x4_t)sum.v, (uint8x16_t)a.v, (int8x16_t)b.v));
  }

#elif VECTOR_BYTES == 16 && defined(CPU_CAPABILITY_DOTPROD)

  // SDOT: four products of signed bytes per lane. a is (a - 128) + 128; the second product is the same for all rows.
  using Format = S8S8Bytes;
  static Words dot(Words sum, Words a, Words b)
  {
    const int8x16_t bytes = (int8x16_t)b.v;
    const int32x4_t more = vdotq_s32(vdupq_n_s32(0), vdupq_n_s8(-128), bytes);
    return Words::of((Words::Raw)vsubq_s32(vdotq_s32((int32x4_t)sum.v, (int8x16_t)a.v, bytes), more));
  }

#else

  using Format = U8S8Integers;
  static Words dot(Words sum, Words a, Words b) { return sum + a * b; }

#endif
};

#if defined(CPU_CAPABILITY_AMX)
using Kind = TileKind<U8S8Bytes>;
#elif VECTOR_BYTES > 0 && defined(__ARM_FEATURE_MATMUL_INT8)
using Kind = VectorKind<Dot, 2>;
#else
using Kind = VectorKind<Dot>;
#endif

void matmul_u8s8(int32_t *c, const uint8_t *a, const int8_t *b, const matmul_shape *shape, void *workspace)
{
  matmul_blocked<Kind>(c, a, b, *shape, workspace);
}

} // namespace

ISA_REGISTER_DISPATCH(matmul_u8s8_stub, &matmul_u8s8)
