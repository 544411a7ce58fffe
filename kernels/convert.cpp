// float32 to bfloat16 and half, and back. The results are the same at all levels: see vec/convert.h.
#include "loop.h"
#include "stubs/convert.h"

namespace {

using vec::bfloat16;
using vec::half;
using vec::Pair;

template <typename T> VEC_INLINE void narrow(uint16_t *dst, const float *src, size_t n, bool past_caches)
{
  writing<T>(dst, n, past_caches, [&](size_t i, auto how) {
    const Pair<float> floats = how.load_floats(src + i);
    how.store(vec::from_floats<T>(floats), reinterpret_cast<T *>(dst) + i);
  });
  if (past_caches)
    vec::fence_streams();
}

template <typename T> VEC_INLINE void widen(float *dst, const uint16_t *src, size_t n, bool past_caches)
{
  writing<T>(dst, n, past_caches, [&](size_t i, auto how) {
    how.store_floats(vec::to_float(how.load(reinterpret_cast<const T *>(src) + i, T())), dst + i);
  });
  if (past_caches)
    vec::fence_streams();
}

void fp32_to_bf16(uint16_t *dst, const float *src, size_t n, bool past_caches)
{
  narrow<bfloat16>(dst, src, n, past_caches);
}
void fp32_to_fp16(uint16_t *dst, const float *src, size_t n, bool past_caches)
{
  narrow<half>(dst, src, n, past_caches);
}
void bf16_to_fp32(float *dst, const uint16_t *src, size_t n, bool past_caches)
{
  widen<bfloat16>(dst, src, n, past_caches);
}
void fp16_to_fp32(float *dst, const uint16_t *src, size_t n, bool past_caches)
{
  widen<half>(dst, src, n, past_caches);
}

} // namespace

ISA_REGISTER_DISPATCH(cvt_fp32_to_bf16_stub, &fp32_to_bf16)
ISA_REGISTER_DISPATCH(cvt_fp32_to_fp16_stub, &fp32_to_fp16)
ISA_REGISTER_DISPATCH(cvt_bf16_to_fp32_stub, &bf16_to_fp32)
ISA_REGISTER_DISPATCH(cvt_fp16_to_fp32_stub, &fp16_to_fp32)
