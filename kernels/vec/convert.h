// Conversions: float to bfloat16, half and int32, and back; arithmetic and comparison of the 16-bit floats as floats.
//
// Conversions of float to bfloat16 and half, and back, give the same bits at every level, also if MXCSR's DAZ and FTZ
// are set. Libraries built with -ffast-math set these for a whole thread. The conversions assume the default rounding
// mode, to nearest.
#ifndef ISAGEN_KERNELS_VEC_CONVERT_H
#define ISAGEN_KERNELS_VEC_CONVERT_H

#include "base.h"
#include "memory.h"
#include "shuffle.h"

namespace vec {
namespace {

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
constexpr bool big_endian = true;
#else
constexpr bool big_endian = false;
#endif

// ---- float and int32

// Truncated; every lane must fit.
VEC_INLINE Vectorized<int32_t> to_int32(Vectorized<float> a)
{
#if VECTOR_BYTES > 0
  return Vectorized<int32_t>::of(__builtin_convertvector(a.v, RawOf<int32_t>::type));
#else
  return Vectorized<int32_t>::of(static_cast<int32_t>(a.v));
#endif
}

// Rounded to nearest even.
VEC_INLINE Vectorized<float> to_float(Vectorized<int32_t> a)
{
#if VECTOR_BYTES > 0
  return Vectorized<float>::of(__builtin_convertvector(a.v, RawOf<float>::type));
#else
  return Vectorized<float>::of(static_cast<float>(a.v));
#endif
}

// ---- as many floats as Vectorized<T> has elements, T of 16 bits: two vectors, or only `first` without a vector unit

template <typename T> VEC_INLINE Pair<float> load_floats(const float *from)
{
  constexpr int n = Vectorized<float>::size();
  const Vectorized<float> first = Vectorized<float>::loadu(from);
  return {first, Vectorized<T>::size() > n ? Vectorized<float>::loadu(from + n) : first};
}
template <typename T> VEC_INLINE Pair<float> load_floats(const float *from, size_t count)
{
  constexpr size_t n = Vectorized<float>::size();
  const Vectorized<float> first = Vectorized<float>::loadu(from, count);
  return {first, count > n ? Vectorized<float>::loadu(from + n, count - n) : Vectorized<float>(0.0f)};
}
template <typename T> VEC_INLINE void store_floats(Pair<float> a, float *to)
{
  constexpr int n = Vectorized<float>::size();
  a.first.store(to);
  if (Vectorized<T>::size() > n)
    a.second.store(to + n);
}
template <typename T> VEC_INLINE void store_floats(Pair<float> a, float *to, size_t count)
{
  constexpr size_t n = Vectorized<float>::size();
  a.first.store(to, count);
  if (count > n)
    a.second.store(to + n, count - n);
}

template <typename T> VEC_INLINE void stream_floats(Pair<float> a, float *to)
{
  constexpr int n = Vectorized<float>::size();
  stream(a.first, to);
  if (Vectorized<T>::size() > n)
    stream(a.second, to + n);
}

// ---- halves of 32-bit lanes

// Returns the upper 16 bits of all lanes of a, then those of b.
VEC_INLINE Vectorized<uint16_t> upper_halves(Vectorized<uint32_t> a, Vectorized<uint32_t> b)
{
#if VECTOR_BYTES == 0
  static_cast<void>(b);
  return Vectorized<uint16_t>::of(static_cast<uint16_t>(a.v >> 16));
#elif VECTOR_BYTES == 16 && defined(VEC_X86) // three instructions, where GCC needs seven for deinterleave2
  const __m128i low = _mm_srai_epi32((__m128i)a.v, 16), high = _mm_srai_epi32((__m128i)b.v, 16);
  return Vectorized<uint16_t>::of((RawOf<uint16_t>::type)_mm_packs_epi32(low, high));
#else
  const Vectorized<uint16_t> x = Vectorized<uint16_t>::of((RawOf<uint16_t>::type)a.v);
  const Vectorized<uint16_t> y = Vectorized<uint16_t>::of((RawOf<uint16_t>::type)b.v);
  const Pair<uint16_t> halves = deinterleave2(x, y);
  return big_endian ? halves.first : halves.second;
#endif
}

// Returns every lane of a in the upper 16 bits of a 32-bit lane, whose lower bits are 0.
VEC_INLINE Pair<uint32_t> to_upper_halves(Vectorized<uint16_t> a)
{
#if VECTOR_BYTES == 0
  const Vectorized<uint32_t> wide = Vectorized<uint32_t>::of(static_cast<uint32_t>(a.v) << 16);
  return {wide, wide};
#else
  const Vectorized<uint16_t> zero(0);
  const Pair<uint16_t> wide = big_endian ? interleave2(a, zero) : interleave2(zero, a);
  return {Vectorized<uint32_t>::of((RawOf<uint32_t>::type)wide.first.v),
          Vectorized<uint32_t>::of((RawOf<uint32_t>::type)wide.second.v)};
#endif
}

VEC_INLINE Vectorized<uint32_t> choose(Mask<float> mask, Vectorized<uint32_t> yes, Vectorized<uint32_t> no)
{
  return as<uint32_t>(Vectorized<float>::blend(mask, as<float>(yes), as<float>(no)));
}

// ---- bfloat16

VEC_INLINE Pair<float> to_float(Vectorized<bfloat16> a)
{
  const Pair<uint32_t> wide = to_upper_halves(as<uint16_t>(a));
  return {as<float>(wide.first), as<float>(wide.second)};
}

// Returns bits whose upper halves are the lanes of a, rounded to nearest even: adds 0x7fff, and 1 if the lowest bit of
// the upper half is set. The caller cuts off the lower halves.
VEC_INLINE Vectorized<uint32_t> round_to_upper_half(Vectorized<float> a)
{
  using U = Vectorized<uint32_t>;
  const U bits = as<uint32_t>(a);
  const U rounded = bits + ((bits >> 16) & U(1)) + U(0x7fff);
  return choose(a != a, bits | U(0x400000), rounded);
}

#if VECTOR_BYTES == 64 && defined(CPU_CAPABILITY_AVX512_BF16)
// Returns whether a lane of a or b is denormal, by its bits, because VFPCLASSPS finds no denormals if MXCSR.DAZ is set.
// Adding an exponent of all ones to the bits turns only a zero exponent into all ones, so only denormals become NaN.
VEC_INLINE bool any_denormal(Vectorized<float> a, Vectorized<float> b)
{
  const Vectorized<uint32_t> ones(0x7f800000);
  const Vectorized<float> x = as<float>(as<uint32_t>(a) + ones), y = as<float>(as<uint32_t>(b) + ones);
  return _mm512_cmp_round_ps_mask(x.v, y.v, _CMP_UNORD_Q, _MM_FROUND_NO_EXC) != 0;
}
#endif

// Returns the lanes of a and then of b, rounded to nearest even, denormals too. A NaN becomes quiet, and keeps its sign
// and the top bits of its payload.
VEC_INLINE Vectorized<bfloat16> to_bfloat16(Vectorized<float> a, Vectorized<float> b)
{
#if VECTOR_BYTES == 64 && defined(CPU_CAPABILITY_AVX512_BF16)
  // The instruction flushes denormals to zero (Intel SDM vol. 2, "VCVTNE2PS2BF16"), so only vectors without denormals
  // use it.
  if (__builtin_expect(!any_denormal(a, b), 1))
    return Vectorized<bfloat16>::of(bit_cast<RawOf<bfloat16>::type>(_mm512_cvtne2ps_pbh(b.v, a.v)));
#endif
  return as<bfloat16>(upper_halves(round_to_upper_half(a), round_to_upper_half(b)));
}

// ---- half

#if defined(VEC_X86) && VECTOR_BYTES == 64

// The intrinsics are the zeroing forms, with all lanes on, because GCC 12 warns of the plain forms' undefined operand
// (GCC bug 105593).
VEC_INLINE Pair<float> to_float(Vectorized<half> a)
{
  const __m512i raw = (__m512i)a.v;
  const __m256i low = _mm512_maskz_extracti64x4_epi64(static_cast<__mmask8>(-1), raw, 0);
  const __m256i high = _mm512_maskz_extracti64x4_epi64(static_cast<__mmask8>(-1), raw, 1);
  return {Vectorized<float>::of(_mm512_maskz_cvtph_ps(static_cast<__mmask16>(-1), low)),
          Vectorized<float>::of(_mm512_maskz_cvtph_ps(static_cast<__mmask16>(-1), high))};
}

VEC_INLINE Vectorized<half> to_half(Vectorized<float> a, Vectorized<float> b)
{
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m256i low = _mm512_maskz_cvtps_ph(static_cast<__mmask16>(-1), a.v, nearest);
  const __m256i high = _mm512_maskz_cvtps_ph(static_cast<__mmask16>(-1), b.v, nearest);
  const __m512i both =
      _mm512_maskz_inserti64x4(static_cast<__mmask8>(-1), _mm512_castsi256_si512(low), high, 1);
  return Vectorized<half>::of((RawOf<half>::type)both);
}

#elif defined(VEC_X86) && VECTOR_BYTES == 32 && defined(__F16C__)

VEC_INLINE Pair<float> to_float(Vectorized<half> a)
{
  const __m256i raw = (__m256i)a.v;
  return {Vectorized<float>::of(_mm256_cvtph_ps(_mm256_castsi256_si128(raw))),
          Vectorized<float>::of(_mm256_cvtph_ps(_mm256_extracti128_si256(raw, 1)))};
}

VEC_INLINE Vectorized<half> to_half(Vectorized<float> a, Vectorized<float> b)
{
  constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  const __m128i low = _mm256_cvtps_ph(a.v, nearest), high = _mm256_cvtps_ph(b.v, nearest);
  return Vectorized<half>::of((RawOf<half>::type)_mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
}

#else

// Converts halves without an instruction for it. Each lane of `upper` contains a half in its upper 16 bits.
VEC_INLINE Vectorized<float> half_to_float(Vectorized<uint32_t> upper)
{
  using U = Vectorized<uint32_t>;
  using F = Vectorized<float>;
  const U sign = upper & U(0x80000000), shifted = (upper >> 3) & U(0x0fffe000);
  const U normal = shifted + U((127 - 15) << 23);
  const U infinite = normal + U((127 - 15) << 23);
  const U quiet = infinite | choose(as<float>(infinite) != as<float>(infinite), U(0x400000), U(0));
  // The value of a denormal: a number with its bits and the exponent of the smallest normal half, minus this half.
  const U smallest((127 - 14) << 23);
  const U denormal = as<uint32_t>(as<float>(shifted + smallest) - as<float>(smallest));
  const U exponent = shifted & U(0x0f800000);
  const U finite = choose(as<float>(exponent) == F(0.0f), denormal, normal);
  const U all = choose(as<float>(exponent) == as<float>(U(0x0f800000)), quiet, finite);
  return as<float>(sign | all);
}

VEC_INLINE Pair<float> to_float(Vectorized<half> a)
{
  const Pair<uint32_t> wide = to_upper_halves(as<uint16_t>(a));
  return {half_to_float(wide.first), half_to_float(wide.second)};
}

// Converts floats to halves, which are in the upper 16 bits of the result's lanes.
VEC_INLINE Vectorized<uint32_t> float_to_half(Vectorized<float> a)
{
  using U = Vectorized<uint32_t>;
  const U bits = as<uint32_t>(a), sign = bits & U(0x80000000), rest = bits ^ sign;
  const Vectorized<float> size = as<float>(rest);
  const U normal = (rest - U((127 - 15) << 23) + U(0xfff) + ((rest >> 13) & U(1))) >> 13;
  // The last bit of `unit`, as a float, has the value of a denormal half's last bit. A sum with it is rounded to that.
  const U unit((127 - 15 + 23 - 10 + 1) << 23);
  const U denormal = as<uint32_t>(size + as<float>(unit)) - unit;
  const U nan = U(0x7e00) | ((rest >> 13) & U(0x3ff));
  const U large = choose(a != a, nan, U(0x7c00));
  const U finite = choose(size < Vectorized<float>(0x1p-14f), denormal, normal);
  const U all = choose(size < Vectorized<float>(65536.0f), finite, large);
  return sign | (all << 16);
}

VEC_INLINE Vectorized<half> to_half(Vectorized<float> a, Vectorized<float> b)
{
  return as<half>(upper_halves(float_to_half(a), float_to_half(b)));
}

#endif

// ---- arithmetic of the 16-bit floats: computed as floats, rounded once to 16 bits

template <typename T> VEC_INLINE Vectorized<T> from_floats(Pair<float> a);
template <> VEC_INLINE Vectorized<bfloat16> from_floats(Pair<float> a)
{
  return to_bfloat16(a.first, a.second);
}
template <> VEC_INLINE Vectorized<half> from_floats(Pair<float> a)
{
  return to_half(a.first, a.second);
}

// Returns two masks of 32-bit lanes as one mask of 16-bit lanes.
template <typename T> VEC_INLINE Mask<T> narrow(Mask<float> a, Mask<float> b)
{
  return {(typename Mask<T>::Raw)upper_halves(Vectorized<uint32_t>::of((RawOf<uint32_t>::type)a.m),
                                              Vectorized<uint32_t>::of((RawOf<uint32_t>::type)b.m))
              .v};
}

#define VEC_16_BITS_BINARY(T, name)                                                                                    \
  VEC_INLINE Vectorized<T> name(Vectorized<T> a, Vectorized<T> b)                                                      \
  {                                                                                                                    \
    const Pair<float> x = to_float(a), y = to_float(b);                                                                \
    return from_floats<T>({name(x.first, y.first), name(x.second, y.second)});                                         \
  }
#define VEC_16_BITS_COMPARE(T, name)                                                                                   \
  VEC_INLINE Mask<T> name(Vectorized<T> a, Vectorized<T> b)                                                            \
  {                                                                                                                    \
    const Pair<float> x = to_float(a), y = to_float(b);                                                                \
    return narrow<T>(name(x.first, y.first), name(x.second, y.second));                                                \
  }
#define VEC_16_BITS(T)                                                                                                 \
  VEC_16_BITS_BINARY(T, operator+)                                                                                     \
  VEC_16_BITS_BINARY(T, operator-)                                                                                     \
  VEC_16_BITS_BINARY(T, operator*)                                                                                     \
  VEC_16_BITS_BINARY(T, operator/)                                                                                     \
  VEC_16_BITS_BINARY(T, minimum)                                                                                       \
  VEC_16_BITS_BINARY(T, maximum)                                                                                       \
  VEC_16_BITS_COMPARE(T, operator==)                                                                                   \
  VEC_16_BITS_COMPARE(T, operator!=)                                                                                   \
  VEC_16_BITS_COMPARE(T, operator<)                                                                                    \
  VEC_16_BITS_COMPARE(T, operator<=)                                                                                   \
  VEC_16_BITS_COMPARE(T, operator>)                                                                                    \
  VEC_16_BITS_COMPARE(T, operator>=)                                                                                   \
  VEC_INLINE Vectorized<T> fmadd(Vectorized<T> a, Vectorized<T> b, Vectorized<T> c)                                    \
  {                                                                                                                    \
    const Pair<float> x = to_float(a), y = to_float(b), z = to_float(c);                                               \
    return from_floats<T>({fmadd(x.first, y.first, z.first), fmadd(x.second, y.second, z.second)});                    \
  }
VEC_16_BITS(bfloat16)
VEC_16_BITS(half)
#undef VEC_16_BITS
#undef VEC_16_BITS_COMPARE
#undef VEC_16_BITS_BINARY

} // namespace
} // namespace vec

#endif
