// The class Vectorized<T>: lanes, arithmetic, comparison, blend, minimum and maximum, fmadd.
#ifndef ISAGEN_KERNELS_VEC_BASE_H
#define ISAGEN_KERNELS_VEC_BASE_H

#include "../vector_width.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#if VECTOR_BYTES > 0
#include <immintrin.h>
#define VEC_X86 1
#endif
#elif defined(__ARM_NEON) && VECTOR_BYTES > 0
#include <arm_neon.h>
#if defined(__ARM_FEATURE_SVE)
#include <arm_sve.h>
#endif
#endif

#if defined(__GNUC__)
#define VEC_INLINE inline __attribute__((always_inline))
#else
#define VEC_INLINE inline
#endif

// For loops over arrays of vectors: an array stays in registers only if the loop is unrolled completely.
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

namespace vec {

// The bits of a bfloat16: a float's upper half.
struct bfloat16 {
  uint16_t bits;
};

// The bits of an IEEE 754 binary16.
struct half {
  uint16_t bits;
};

// The namespace has no name, so that functions of a level are private to its objects, also in builds without sealing.
namespace {

// The type of a lane of T: T itself, or for 16-bit floats the integer of their bits.
template <typename T> struct Lane {
  using type = T;
};
template <> struct Lane<bfloat16> {
  using type = uint16_t;
};
template <> struct Lane<half> {
  using type = uint16_t;
};

// Integers of the width of T, for operations on bits and for sums that wrap.
template <int bytes> struct Bits;
template <> struct Bits<1> {
  using type = uint8_t;
  using with_sign = int8_t;
};
template <> struct Bits<2> {
  using type = uint16_t;
  using with_sign = int16_t;
};
template <> struct Bits<4> {
  using type = uint32_t;
  using with_sign = int32_t;
};
template <> struct Bits<8> {
  using type = uint64_t;
  using with_sign = int64_t;
};
template <typename T> using BitsOf = typename Bits<sizeof(T)>::type;

template <typename T> struct Float {
  static constexpr bool value = false;
};
template <> struct Float<float> {
  static constexpr bool value = true;
};
template <> struct Float<double> {
  static constexpr bool value = true;
};

#if VECTOR_BYTES > 0
template <typename T> struct RawOf {
  typedef typename Lane<T>::type type __attribute__((vector_size(VECTOR_BYTES)));
  typedef typename Bits<sizeof(T)>::with_sign mask __attribute__((vector_size(VECTOR_BYTES)));
};
#else
template <typename T> struct RawOf {
  using type = typename Lane<T>::type;
  using mask = typename Bits<sizeof(T)>::with_sign;
};
#endif

// CountTo<n>::type is the Sequence 0 .. n - 1. Including <utility> for it would take longer than this whole header.
template <int... numbers> struct Sequence {};
template <int n, int... numbers> struct CountTo : CountTo<n - 1, n - 1, numbers...> {};
template <int... numbers> struct CountTo<0, numbers...> {
  using type = Sequence<numbers...>;
};

// One truth value per lane of Vectorized<T>: all bits of the lane are set, or none. At AVX-512 levels, compilers keep a
// Mask in a mask register.
template <typename T> struct Mask {
  using Raw = typename RawOf<T>::mask;
  Raw m;

  // The first n lanes.
  static VEC_INLINE Mask first(size_t n);
  VEC_INLINE bool any() const;

  friend VEC_INLINE Mask operator&(Mask a, Mask b) { return {static_cast<Raw>(a.m & b.m)}; }
  friend VEC_INLINE Mask operator|(Mask a, Mask b) { return {static_cast<Raw>(a.m | b.m)}; }
  friend VEC_INLINE Mask operator~(Mask a) { return {static_cast<Raw>(~a.m)}; }
};

// A vector of VECTOR_BYTES / sizeof(T) elements, of one if VECTOR_BYTES is 0. Float operations follow IEEE 754 in each
// lane, but denormals count as zero if the thread's MXCSR.DAZ and FTZ are set. Sums and products of integers wrap. The
// arithmetic of 16-bit floats is in convert.h.
template <typename T> struct Vectorized {
  using value_type = T;
  using Raw = typename RawOf<T>::type;

  // The compiler's vector type, such as __m512.
  Raw v;

  static constexpr int size() { return VECTOR_BYTES > 0 ? VECTOR_BYTES / static_cast<int>(sizeof(T)) : 1; }

  Vectorized() = default; // uninitialised, as a float would be
  VEC_INLINE Vectorized(T all);
  static VEC_INLINE Vectorized of(Raw raw)
  {
    Vectorized result;
    result.v = raw;
    return result;
  }
  // 0, 1, 2, ... in the lanes.
  static VEC_INLINE Vectorized iota();

  // Defined in memory.h. Memory may have any alignment; bytes beyond the first `count` elements are not accessed.
  static VEC_INLINE Vectorized loadu(const void *from);
  static VEC_INLINE Vectorized loadu(const void *from, size_t count); // the other lanes are 0
  static VEC_INLINE Vectorized loadu(const void *from, size_t count, T others);
  VEC_INLINE void store(void *to) const;
  VEC_INLINE void store(void *to, size_t count) const;

  VEC_INLINE T lane(int i) const;

  // `yes` where the mask holds, else `no`.
  static VEC_INLINE Vectorized blend(Mask<T> mask, Vectorized yes, Vectorized no);
};

// ---- the same bits as lanes of another type

template <typename To, typename From> VEC_INLINE To bit_cast(From from)
{
  static_assert(sizeof(To) == sizeof(From), "as many bytes");
  To to;
#if defined(__GNUC__)
  __builtin_memcpy(&to, &from, sizeof to);
#else
  for (size_t i = 0; i < sizeof to; i++)
    reinterpret_cast<char *>(&to)[i] = reinterpret_cast<const char *>(&from)[i];
#endif
  return to;
}

template <typename To, typename From> VEC_INLINE Vectorized<To> as(Vectorized<From> from)
{
#if VECTOR_BYTES > 0
  return Vectorized<To>::of((typename RawOf<To>::type)from.v);
#else
  return Vectorized<To>::of(bit_cast<typename RawOf<To>::type>(from.v));
#endif
}

// ---- arithmetic

// Integers wrap: unsigned arithmetic gives the same bits.
template <typename T, bool is_float = Float<T>::value> struct Wrapping {
  using type = BitsOf<T>;
};
template <typename T> struct Wrapping<T, true> {
  using type = T;
};

// Without vectors, C++ promotes a lane narrower than int to int, whose products may overflow. This makes it unsigned.
template <typename R> VEC_INLINE R unpromoted(R a)
{
  return a;
}
#if VECTOR_BYTES == 0
VEC_INLINE uint32_t unpromoted(uint8_t a)
{
  return a;
}
VEC_INLINE uint32_t unpromoted(uint16_t a)
{
  return a;
}
#endif

#define VEC_BINARY(operation)                                                                                          \
  template <typename T> VEC_INLINE Vectorized<T> operator operation(Vectorized<T> a, Vectorized<T> b)                  \
  {                                                                                                                    \
    using W = typename Wrapping<T>::type;                                                                              \
    using R = typename Vectorized<W>::Raw;                                                                             \
    return as<T>(Vectorized<W>::of(static_cast<R>(unpromoted(as<W>(a).v) operation unpromoted(as<W>(b).v))));          \
  }
VEC_BINARY(+)
VEC_BINARY(-)
VEC_BINARY(*)
#undef VEC_BINARY

// Floats only: there is no instruction for integers.
template <typename T> VEC_INLINE Vectorized<T> operator/(Vectorized<T> a, Vectorized<T> b)
{
  static_assert(Float<T>::value, "integers are not divided in vectors");
  return Vectorized<T>::of(a.v / b.v);
}

#define VEC_BITWISE(operation)                                                                                         \
  template <typename T> VEC_INLINE Vectorized<T> operator operation(Vectorized<T> a, Vectorized<T> b)                  \
  {                                                                                                                    \
    using B = BitsOf<T>;                                                                                               \
    using R = typename Vectorized<B>::Raw;                                                                             \
    return as<T>(Vectorized<B>::of(static_cast<R>(as<B>(a).v operation as<B>(b).v)));                                  \
  }
VEC_BITWISE(&)
VEC_BITWISE(|)
VEC_BITWISE(^)
#undef VEC_BITWISE

// Shift every lane by the same number of bits. To the right, signed lanes are shifted arithmetically.
template <typename T> VEC_INLINE Vectorized<T> operator<<(Vectorized<T> a, int bits)
{
  using R = typename Vectorized<BitsOf<T>>::Raw;
  return as<T>(Vectorized<BitsOf<T>>::of(static_cast<R>(as<BitsOf<T>>(a).v << bits)));
}
template <typename T> VEC_INLINE Vectorized<T> operator>>(Vectorized<T> a, int bits)
{
  return Vectorized<T>::of(static_cast<typename Vectorized<T>::Raw>(a.v >> bits));
}

// Returns a * b + c, rounded once if the level has an instruction for it: on x86 from AVX2 on, not at DEFAULT. Without
// an instruction, the result is rounded twice, or, in x87 registers, to more bits.
template <typename T> VEC_INLINE Vectorized<T> fmadd(Vectorized<T> a, Vectorized<T> b, Vectorized<T> c)
{
  if constexpr (Float<T>::value)
    return Vectorized<T>::of(a.v * b.v + c.v); // one expression, because Clang does not fuse two
  else
    return a * b + c;
}

#if defined(VEC_X86) && defined(__FMA__)
#if VECTOR_BYTES == 64
template <> VEC_INLINE Vectorized<float> fmadd(Vectorized<float> a, Vectorized<float> b, Vectorized<float> c)
{
  return Vectorized<float>::of(_mm512_fmadd_ps(a.v, b.v, c.v));
}
template <> VEC_INLINE Vectorized<double> fmadd(Vectorized<double> a, Vectorized<double> b, Vectorized<double> c)
{
  return Vectorized<double>::of(_mm512_fmadd_pd(a.v, b.v, c.v));
}
#elif VECTOR_BYTES == 32
template <> VEC_INLINE Vectorized<float> fmadd(Vectorized<float> a, Vectorized<float> b, Vectorized<float> c)
{
  return Vectorized<float>::of(_mm256_fmadd_ps(a.v, b.v, c.v));
}
template <> VEC_INLINE Vectorized<double> fmadd(Vectorized<double> a, Vectorized<double> b, Vectorized<double> c)
{
  return Vectorized<double>::of(_mm256_fmadd_pd(a.v, b.v, c.v));
}
#endif
#endif

// ---- comparison: false if either is a NaN, except !=

#if defined(__clang__) && defined(__ALTIVEC__)
// The warning is about comparisons of vectors of bool and pixels, whose meaning Clang changes. There are none here.
#pragma clang diagnostic ignored "-Wdeprecated-altivec-src-compat"
#endif
#if VECTOR_BYTES > 0
#define VEC_COMPARE(operation)                                                                                         \
  template <typename T> VEC_INLINE Mask<T> operator operation(Vectorized<T> a, Vectorized<T> b)                        \
  {                                                                                                                    \
    return {(typename Mask<T>::Raw)(a.v operation b.v)};                                                               \
  }
#else
#define VEC_COMPARE(operation)                                                                                         \
  template <typename T> VEC_INLINE Mask<T> operator operation(Vectorized<T> a, Vectorized<T> b)                        \
  {                                                                                                                    \
    return {static_cast<typename Mask<T>::Raw>(a.v operation b.v ? -1 : 0)};                                           \
  }
#endif
VEC_COMPARE(==)
VEC_COMPARE(!=)
VEC_COMPARE(<)
VEC_COMPARE(<=)
VEC_COMPARE(>)
VEC_COMPARE(>=)
#undef VEC_COMPARE

template <typename T> VEC_INLINE Vectorized<T> Vectorized<T>::blend(Mask<T> mask, Vectorized yes, Vectorized no)
{
  return of(mask.m ? yes.v : no.v);
}

// The smaller or larger of a and b; b if either is a NaN or both are zeros. On x86, one instruction does exactly this.
template <typename T> VEC_INLINE Vectorized<T> min_or_second(Vectorized<T> a, Vectorized<T> b)
{
  return Vectorized<T>::blend(a < b, a, b);
}
template <typename T> VEC_INLINE Vectorized<T> max_or_second(Vectorized<T> a, Vectorized<T> b)
{
  return Vectorized<T>::blend(a > b, a, b);
}

#if defined(VEC_X86)
// Intrinsics: GCC 12 finds the instruction for floats only if neither operand is a constant, and for integers hardly
// ever. They are the zeroing forms, with all lanes on, because GCC warns of the plain forms' undefined operand (GCC bug
// 105593).
#if VECTOR_BYTES == 64
#define VEC_X86_TYPE(letter) __m512##letter
#define VEC_X86_CALL(name, lanes, a, b) _mm512_maskz_##name(static_cast<__mmask##lanes>(-1), a, b)
#elif VECTOR_BYTES == 32
#define VEC_X86_TYPE(letter) __m256##letter
#define VEC_X86_CALL(name, lanes, a, b) _mm256_##name(a, b)
#else
#define VEC_X86_TYPE(letter) __m128##letter
#define VEC_X86_CALL(name, lanes, a, b) _mm_##name(a, b)
#endif
#define VEC_X86_MIN_OR_MAX(which, T, letter, suffix, lanes)                                                            \
  template <> VEC_INLINE Vectorized<T> which##_or_second(Vectorized<T> a, Vectorized<T> b)                             \
  {                                                                                                                    \
    using X = VEC_X86_TYPE(letter);                                                                                    \
    return Vectorized<T>::of((RawOf<T>::type)VEC_X86_CALL(which##_##suffix, lanes, (X)a.v, (X)b.v));                   \
  }
#define VEC_X86_MIN_AND_MAX(T, letter, suffix, lanes)                                                                  \
  VEC_X86_MIN_OR_MAX(min, T, letter, suffix, lanes)                                                                    \
  VEC_X86_MIN_OR_MAX(max, T, letter, suffix, lanes)
VEC_X86_MIN_AND_MAX(float, , ps, 16)
VEC_X86_MIN_AND_MAX(double, d, pd, 8)
VEC_X86_MIN_AND_MAX(uint8_t, i, epu8, 64)
VEC_X86_MIN_AND_MAX(int16_t, i, epi16, 32)
#if VECTOR_BYTES > 16 || defined(__SSE4_1__)
VEC_X86_MIN_AND_MAX(int8_t, i, epi8, 64)
VEC_X86_MIN_AND_MAX(uint16_t, i, epu16, 32)
VEC_X86_MIN_AND_MAX(int32_t, i, epi32, 16)
VEC_X86_MIN_AND_MAX(uint32_t, i, epu32, 16)
#endif
#if VECTOR_BYTES == 64
VEC_X86_MIN_AND_MAX(int64_t, i, epi64, 8)
VEC_X86_MIN_AND_MAX(uint64_t, i, epu64, 8)
#endif
#undef VEC_X86_MIN_AND_MAX
#undef VEC_X86_MIN_OR_MAX
#undef VEC_X86_CALL
#undef VEC_X86_TYPE
#endif

// The smaller or larger of a and b; NaN if either is NaN, as in NumPy and PyTorch.
template <typename T> VEC_INLINE Vectorized<T> minimum(Vectorized<T> a, Vectorized<T> b)
{
  if constexpr (Float<T>::value)
    return Vectorized<T>::blend(a != a, a, min_or_second(a, b));
  else
    return min_or_second(a, b);
}
template <typename T> VEC_INLINE Vectorized<T> maximum(Vectorized<T> a, Vectorized<T> b)
{
  if constexpr (Float<T>::value)
    return Vectorized<T>::blend(a != a, a, max_or_second(a, b));
  else
    return max_or_second(a, b);
}

// Lanes in which a or b is NaN.
template <typename T> VEC_INLINE Mask<T> unordered(Vectorized<T> a, Vectorized<T> b)
{
  return (a != a) | (b != b);
}

#if defined(VEC_X86)
// One comparison; for the code above, compilers compare each operand with itself.
#if VECTOR_BYTES == 64
template <> VEC_INLINE Mask<float> unordered(Vectorized<float> a, Vectorized<float> b)
{
  return {(Mask<float>::Raw)_mm512_movm_epi32(_mm512_cmp_ps_mask(a.v, b.v, _CMP_UNORD_Q))};
}
template <> VEC_INLINE Mask<double> unordered(Vectorized<double> a, Vectorized<double> b)
{
  return {(Mask<double>::Raw)_mm512_movm_epi64(_mm512_cmp_pd_mask(a.v, b.v, _CMP_UNORD_Q))};
}
#elif VECTOR_BYTES == 32
template <> VEC_INLINE Mask<float> unordered(Vectorized<float> a, Vectorized<float> b)
{
  return {(Mask<float>::Raw)_mm256_cmp_ps(a.v, b.v, _CMP_UNORD_Q)};
}
template <> VEC_INLINE Mask<double> unordered(Vectorized<double> a, Vectorized<double> b)
{
  return {(Mask<double>::Raw)_mm256_cmp_pd(a.v, b.v, _CMP_UNORD_Q)};
}
#else
template <> VEC_INLINE Mask<float> unordered(Vectorized<float> a, Vectorized<float> b)
{
  return {(Mask<float>::Raw)_mm_cmpunord_ps(a.v, b.v)};
}
template <> VEC_INLINE Mask<double> unordered(Vectorized<double> a, Vectorized<double> b)
{
  return {(Mask<double>::Raw)_mm_cmpunord_pd(a.v, b.v)};
}
#endif
#endif

// ---- lanes one by one

template <typename T> VEC_INLINE T Vectorized<T>::lane(int i) const
{
#if VECTOR_BYTES > 0
  return bit_cast<T>(static_cast<typename Lane<T>::type>(v[i]));
#else
  static_cast<void>(i);
  return bit_cast<T>(v);
#endif
}

#if VECTOR_BYTES > 0
template <typename Raw, typename L, int... i> VEC_INLINE Raw broadcast(L all, Sequence<i...>)
{
  return Raw{(static_cast<void>(i), all)...};
}
template <typename Raw, typename L, int... i> VEC_INLINE Raw count(Sequence<i...>)
{
  return Raw{static_cast<L>(i)...};
}
#endif

template <typename T> VEC_INLINE Vectorized<T>::Vectorized(T all)
{
  using L = typename Lane<T>::type;
#if VECTOR_BYTES > 0
  v = broadcast<Raw>(bit_cast<L>(all), typename CountTo<size()>::type());
#else
  v = bit_cast<L>(all);
#endif
}

template <typename T> VEC_INLINE Vectorized<T> Vectorized<T>::iota()
{
#if VECTOR_BYTES > 0
  return of(count<Raw, typename Lane<T>::type>(typename CountTo<size()>::type()));
#else
  return of(0);
#endif
}

template <typename T> VEC_INLINE Mask<T> Mask<T>::first(size_t n)
{
  using B = typename Bits<sizeof(T)>::with_sign;
  const Vectorized<B> limit(static_cast<B>(n));
  return {(Vectorized<B>::iota() < limit).m};
}

template <typename T> VEC_INLINE bool Mask<T>::any() const
{
#if VECTOR_BYTES == 64 && defined(VEC_X86)
  return _mm512_movepi8_mask((__m512i)m) != 0;
#elif VECTOR_BYTES == 32 && defined(VEC_X86)
  return _mm256_movemask_epi8((__m256i)m) != 0;
#elif VECTOR_BYTES == 16 && defined(VEC_X86)
  return _mm_movemask_epi8((__m128i)m) != 0;
#elif VECTOR_BYTES > 0
  typedef uint64_t Words __attribute__((vector_size(VECTOR_BYTES)));
  const Words words = (Words)m;
  uint64_t all = 0;
  for (int i = 0; i < VECTOR_BYTES / 8; i++)
    all |= words[i];
  return all != 0;
#else
  return m != 0;
#endif
}

} // namespace
} // namespace vec

#endif
