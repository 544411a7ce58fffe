// Loads and stores of Vectorized<T>: of whole vectors, of the first n elements, and past the caches.
#ifndef ISAGEN_KERNELS_VEC_MEMORY_H
#define ISAGEN_KERNELS_VEC_MEMORY_H

#include "base.h"

namespace vec {
namespace {

// Copies fewer bytes than a vector has, in pieces of 32, 16, ... bytes. On a short row, a call of memcpy would take
// longer than the whole kernel.
VEC_INLINE void copy_bytes(char *to, const char *from, size_t bytes)
{
#if VECTOR_BYTES > 0
  size_t done = 0;
#define VEC_PIECE(size)                                                                                                \
  if (VECTOR_BYTES > (size) && (bytes & (size))) {                                                                     \
    __builtin_memcpy(to + done, from + done, size);                                                                    \
    done += (size);                                                                                                    \
  }
  VEC_PIECE(32)
  VEC_PIECE(16)
  VEC_PIECE(8)
  VEC_PIECE(4)
  VEC_PIECE(2)
  VEC_PIECE(1)
#undef VEC_PIECE
#else
  for (size_t i = 0; i < bytes; i++)
    to[i] = from[i];
#endif
}

// memcpy for any alignment. Clang infers the alignment of memory from the types of memcpy's arguments, also through
// conversions to void *, but not from the parameters of an inlined function such as this one.
VEC_INLINE void copy_memory(void *to, const void *from, size_t bytes)
{
#if defined(__GNUC__)
  __builtin_memcpy(to, from, bytes);
#else
  copy_bytes(static_cast<char *>(to), static_cast<const char *>(from), bytes);
#endif
}

template <typename T> VEC_INLINE Vectorized<T> Vectorized<T>::loadu(const void *from)
{
  Vectorized result;
  copy_memory(&result.v, from, sizeof result.v);
  return result;
}

template <typename T> VEC_INLINE void Vectorized<T>::store(void *to) const
{
  copy_memory(to, &v, sizeof v);
}

// Returns the vector. Compilers compute vectors that pass through this function, and load their operands, in the order
// of the source. Without it, they sort the loads of a loop, but hardware prefetchers follow ascending addresses best.
template <typename T> VEC_INLINE Vectorized<T> in_order(Vectorized<T> a)
{
#if defined(VEC_X86) && VECTOR_BYTES == 64
  __asm__ volatile("" : "+v"(a.v));
#elif defined(VEC_X86)
  __asm__ volatile("" : "+x"(a.v));
#endif
  return a;
}

// Loads a vector of 64 bytes by two instructions, and a shorter vector by one.
template <typename T> VEC_INLINE Vectorized<T> load_by_halves(const T *from)
{
#if defined(VEC_X86) && VECTOR_BYTES == 64
  __m256i low, high;
  copy_memory(&low, from, sizeof low);
  __asm__ volatile("" : "+v"(low)); // the compiler must not join the loads
  copy_memory(&high, reinterpret_cast<const char *>(from) + sizeof low, sizeof high);
  const __m512i both = _mm512_maskz_inserti64x4(static_cast<__mmask8>(-1), _mm512_castsi256_si512(low), high, 1);
  return in_order(Vectorized<T>::of((typename Vectorized<T>::Raw)both));
#else
  return Vectorized<T>::loadu(from);
#endif
}

#if defined(VEC_X86) && VECTOR_BYTES == 64

// A masked load or store does not fault on lanes that are masked out (Intel SDM vol. 1, 15.6.1).
template <typename T> VEC_INLINE Vectorized<T> Vectorized<T>::loadu(const void *from, size_t count, T others)
{
  const uint64_t lanes = count >= static_cast<size_t>(size()) ? ~0ull : (1ull << count) - 1;
  const __m512i rest = (__m512i)Vectorized(others).v;
  __m512i raw;
  if constexpr (sizeof(T) == 1)
    raw = _mm512_mask_loadu_epi8(rest, static_cast<__mmask64>(lanes), from);
  else if constexpr (sizeof(T) == 2)
    raw = _mm512_mask_loadu_epi16(rest, static_cast<__mmask32>(lanes), from);
  else if constexpr (sizeof(T) == 4)
    raw = _mm512_mask_loadu_epi32(rest, static_cast<__mmask16>(lanes), from);
  else
    raw = _mm512_mask_loadu_epi64(rest, static_cast<__mmask8>(lanes), from);
  return of((Raw)raw);
}

template <typename T> VEC_INLINE void Vectorized<T>::store(void *to, size_t count) const
{
  const uint64_t lanes = count >= static_cast<size_t>(size()) ? ~0ull : (1ull << count) - 1;
  const __m512i raw = (__m512i)v;
  if constexpr (sizeof(T) == 1)
    _mm512_mask_storeu_epi8(to, static_cast<__mmask64>(lanes), raw);
  else if constexpr (sizeof(T) == 2)
    _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(lanes), raw);
  else if constexpr (sizeof(T) == 4)
    _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(lanes), raw);
  else
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(lanes), raw);
}

#else

template <typename T> VEC_INLINE Vectorized<T> Vectorized<T>::loadu(const void *from, size_t count, T others)
{
  if (count >= static_cast<size_t>(size()))
    return loadu(from);
#if defined(VEC_X86) && VECTOR_BYTES == 32
  if constexpr (sizeof(T) >= 4) {
    const __m256i lanes = (__m256i)Mask<T>::first(count).m;
    __m256i raw;
    if constexpr (sizeof(T) == 4)
      raw = _mm256_maskload_epi32(static_cast<const int *>(from), lanes);
    else
      raw = _mm256_maskload_epi64(static_cast<const long long *>(from), lanes);
    return blend(Mask<T>::first(count), of((Raw)raw), Vectorized(others));
  }
#endif
  Vectorized result(others);
  copy_bytes(reinterpret_cast<char *>(&result.v), static_cast<const char *>(from), count * sizeof(T));
  return result;
}

template <typename T> VEC_INLINE void Vectorized<T>::store(void *to, size_t count) const
{
  if (count >= static_cast<size_t>(size()))
    return store(to);
#if defined(VEC_X86) && VECTOR_BYTES == 32
  if constexpr (sizeof(T) >= 4) {
    const __m256i lanes = (__m256i)Mask<T>::first(count).m;
    if constexpr (sizeof(T) == 4)
      _mm256_maskstore_epi32(static_cast<int *>(to), lanes, (__m256i)v);
    else
      _mm256_maskstore_epi64(static_cast<long long *>(to), lanes, (__m256i)v);
    return;
  }
#endif
  const Raw raw = v;
  copy_bytes(static_cast<char *>(to), reinterpret_cast<const char *>(&raw), count * sizeof(T));
}

#endif

template <typename T> VEC_INLINE Vectorized<T> Vectorized<T>::loadu(const void *from, size_t count)
{
  return loadu(from, count, T());
}

// Load and store one element, which need not be aligned.
template <typename T> VEC_INLINE T load_one(const T *from)
{
  T value;
  copy_memory(&value, from, sizeof value);
  return value;
}
template <typename T> VEC_INLINE void store_one(T value, T *to)
{
  copy_memory(to, &value, sizeof value);
}

// ---- before and past the caches

// Prefetches a cache line. The address need not be valid.
VEC_INLINE void prefetch(const void *line)
{
#if defined(__GNUC__)
  __builtin_prefetch(line);
#else
  static_cast<void>(line);
#endif
}

// A non-temporal store, for arrays larger than the caches: it neither reads the cache line first nor leaves it in the
// caches. `to` must be aligned to sizeof(Raw). Other threads see the data after fence_streams().
template <typename T> VEC_INLINE void stream(Vectorized<T> value, void *to)
{
#if defined(VEC_X86) && VECTOR_BYTES == 64
  _mm512_stream_si512(static_cast<__m512i *>(to), (__m512i)value.v);
#elif defined(VEC_X86) && VECTOR_BYTES == 32
  _mm256_stream_si256(static_cast<__m256i *>(to), (__m256i)value.v);
#elif defined(VEC_X86) && VECTOR_BYTES == 16
  _mm_stream_si128(static_cast<__m128i *>(to), (__m128i)value.v);
#else
  value.store(to);
#endif
}

VEC_INLINE void fence_streams()
{
#if defined(VEC_X86)
  _mm_sfence();
#endif
}

} // namespace
} // namespace vec

#endif
