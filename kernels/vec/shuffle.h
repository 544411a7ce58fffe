// Functions that move the lanes of Vectorized<T>: interleave2, deinterleave2, shift_in, last, reduce_all.
//
// They are written as lists of indexes, for which GCC and Clang find the instructions (docs/kernels.md).
#ifndef ISAGEN_KERNELS_VEC_SHUFFLE_H
#define ISAGEN_KERNELS_VEC_SHUFFLE_H

#include "base.h"

namespace vec {
namespace {

template <typename T> struct Pair {
  Vectorized<T> first, second;
};

#if VECTOR_BYTES > 0

// Returns, for each i of a list, the lane a[i], or b[i - size()] if i >= size(). GCC has Clang's builtin from 12 on.
#if defined(__clang__) || __GNUC__ >= 12
#define VEC_SHUFFLE(T, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define VEC_SHUFFLE(T, a, b, ...) __builtin_shuffle(a, b, typename RawOf<T>::mask{__VA_ARGS__})
#endif

template <typename T> using Lanes = typename CountTo<Vectorized<T>::size()>::type;

template <typename T, int... i> VEC_INLINE Pair<T> interleave2(Vectorized<T> a, Vectorized<T> b, Sequence<i...>)
{
  constexpr int n = Vectorized<T>::size();
  return {Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (i / 2 + i % 2 * n)...)),
          Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (n / 2 + i / 2 + i % 2 * n)...))};
}

template <typename T, int... i> VEC_INLINE Pair<T> deinterleave2(Vectorized<T> a, Vectorized<T> b, Sequence<i...>)
{
  return {Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (2 * i)...)),
          Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (2 * i + 1)...))};
}

template <int by, typename T, int... i>
VEC_INLINE Vectorized<T> shift_in(Vectorized<T> a, Vectorized<T> fill, Sequence<i...>)
{
  constexpr int n = Vectorized<T>::size();
  return Vectorized<T>::of(VEC_SHUFFLE(T, fill.v, a.v, (n - by + i)...));
}

template <int by, typename T, int... i> VEC_INLINE Vectorized<T> exchange(Vectorized<T> a, Sequence<i...>)
{
  return Vectorized<T>::of(VEC_SHUFFLE(T, a.v, a.v, (i ^ by)...));
}

template <typename T, int... i> VEC_INLINE Vectorized<T> last(Vectorized<T> a, Sequence<i...>)
{
  return Vectorized<T>::of(VEC_SHUFFLE(T, a.v, a.v, (i * 0 + Vectorized<T>::size() - 1)...));
}

// interleave2 within each block of 16 bytes: `first` has the first half of each block's result, `second` the second.
template <typename T, int... i> VEC_INLINE Pair<T> interleave2_by_16(Vectorized<T> a, Vectorized<T> b, Sequence<i...>)
{
  constexpr int n = Vectorized<T>::size(), some = 16 / static_cast<int>(sizeof(T));
  return {Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (i / some * some + i % some / 2 + i % 2 * n)...)),
          Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (i / some * some + some / 2 + i % some / 2 + i % 2 * n)...))};
}

// interleave2 of pairs of lanes: {a0, a1, b0, b1, a2, ...} in two vectors.
template <typename T, int... i> VEC_INLINE Pair<T> interleave2_pairs(Vectorized<T> a, Vectorized<T> b, Sequence<i...>)
{
  constexpr int n = Vectorized<T>::size();
  return {Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (i / 4 * 2 + i % 2 + i / 2 % 2 * n)...)),
          Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (n / 2 + i / 4 * 2 + i % 2 + i / 2 % 2 * n)...))};
}

// {first half of a, first half of b}, and {second half of a, second half of b}.
template <typename T, int... i> VEC_INLINE Pair<T> join_halves(Vectorized<T> a, Vectorized<T> b, Sequence<i...>)
{
  constexpr int half = Vectorized<T>::size() / 2;
  return {Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (i + i / half * half)...)),
          Vectorized<T>::of(VEC_SHUFFLE(T, a.v, b.v, (half + i + i / half * half)...))};
}

// {a0, b0, a1, b1, ...} in two vectors.
template <typename T> VEC_INLINE Pair<T> interleave2(Vectorized<T> a, Vectorized<T> b)
{
  if constexpr (VECTOR_BYTES == 64 && sizeof(T) == 1) {
    // AVX-512 without VBMI cannot move single bytes across 16-byte blocks. As one list of indexes, the move would be
    // ten instructions with GCC, and 14 with Clang.
    const Pair<T> near = interleave2_by_16(a, b, Lanes<T>());
    const Pair<uint64_t> all =
        interleave2_pairs(as<uint64_t>(near.first), as<uint64_t>(near.second), Lanes<uint64_t>());
    return {as<T>(all.first), as<T>(all.second)};
  } else {
    return interleave2(a, b, Lanes<T>());
  }
}

// The inverse of interleave2: `first` has the even lanes of a and then of b, `second` the odd lanes of both.
template <typename T> VEC_INLINE Pair<T> deinterleave2(Vectorized<T> a, Vectorized<T> b)
{
  return deinterleave2(a, b, Lanes<T>());
}

// Lane i becomes a[i - by]; the first `by` lanes are the last ones of `fill`.
template <int by, typename T> VEC_INLINE Vectorized<T> shift_in(Vectorized<T> a, Vectorized<T> fill)
{
  return shift_in<by>(a, fill, Lanes<T>());
}

// Lane i becomes a[i ^ by].
template <int by, typename T> VEC_INLINE Vectorized<T> exchange(Vectorized<T> a)
{
  return exchange<by>(a, Lanes<T>());
}

// The last lane, broadcast to all lanes.
template <typename T> VEC_INLINE Vectorized<T> last(Vectorized<T> a)
{
  return last(a, Lanes<T>());
}

template <int half, typename T, typename Op> VEC_INLINE Vectorized<T> reduce_from(Op op, Vectorized<T> a)
{
  if constexpr (half > 0)
    return reduce_from<half / 2>(op, op(a, exchange<half>(a)));
  else
    return a;
}

#else

template <typename T> VEC_INLINE Pair<T> interleave2(Vectorized<T> a, Vectorized<T> b)
{
  return {a, b};
}
template <typename T> VEC_INLINE Pair<T> deinterleave2(Vectorized<T> a, Vectorized<T> b)
{
  return {a, b};
}
template <int by, typename T> VEC_INLINE Vectorized<T> shift_in(Vectorized<T>, Vectorized<T> fill)
{
  return fill;
}
template <int by, typename T> VEC_INLINE Vectorized<T> exchange(Vectorized<T> a)
{
  return a;
}
template <typename T> VEC_INLINE Vectorized<T> last(Vectorized<T> a)
{
  return a;
}
template <int half, typename T, typename Op> VEC_INLINE Vectorized<T> reduce_from(Op, Vectorized<T> a)
{
  return a;
}

#endif

// Reduces all lanes to one by op(Vectorized<T>, Vectorized<T>) -> Vectorized<T>, in log2(size()) steps, each of which
// combines halves. op is associative and commutative up to rounding.
template <typename T, typename Op> VEC_INLINE T reduce_all(Op op, Vectorized<T> a)
{
  return reduce_from<Vectorized<T>::size() / 2>(op, a).lane(0);
}

// a + b, as the op of reduce_all.
template <typename T> VEC_INLINE Vectorized<T> add(Vectorized<T> a, Vectorized<T> b)
{
  return a + b;
}

} // namespace
} // namespace vec

#endif
