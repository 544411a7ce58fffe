// Loops over n elements by vectors, with a partial vector at the end. For kernel sources only.
#ifndef ISAGEN_KERNELS_LOOP_H
#define ISAGEN_KERNELS_LOOP_H

#include "vec.h"

namespace {

using vec::Vectorized;

// How one step of a loop loads and stores: Whole vectors; Part, the first `count` elements of a vector; Streamed, whole
// vectors that are stored past the caches; Halved, whole vectors that are loaded by halves.
// `others` fills the lanes without an element. If T is a 16-bit float, load_floats and store_floats move as many floats
// as a vector of T has lanes.
template <typename T> struct Whole {
  using Vec = Vectorized<T>;
  static constexpr bool ordered = false; // whether loads stay in the order of the source
  VEC_INLINE Vec load(const T *from, T) const { return Vec::loadu(from); }
  VEC_INLINE void store(Vec value, T *to) const { value.store(to); }
  VEC_INLINE vec::Pair<float> load_floats(const float *from) const { return vec::load_floats<T>(from); }
  VEC_INLINE void store_floats(vec::Pair<float> values, float *to) const { vec::store_floats<T>(values, to); }
};
template <typename T> struct Part {
  using Vec = Vectorized<T>;
  size_t count;
  VEC_INLINE Vec load(const T *from, T others) const { return Vec::loadu(from, count, others); }
  VEC_INLINE void store(Vec value, T *to) const { value.store(to, count); }
  VEC_INLINE vec::Pair<float> load_floats(const float *from) const { return vec::load_floats<T>(from, count); }
  VEC_INLINE void store_floats(vec::Pair<float> values, float *to) const { vec::store_floats<T>(values, to, count); }
};
template <typename T> struct Streamed : Whole<T> {
  using Vec = Vectorized<T>;
  VEC_INLINE void store(Vec value, T *to) const { vec::stream(value, to); }
  VEC_INLINE void store_floats(vec::Pair<float> values, float *to) const { vec::stream_floats<T>(values, to); }
};
template <typename T> struct Halved : Whole<T> {
  static constexpr bool ordered = true;
  VEC_INLINE Vectorized<T> load(const T *from, T) const { return vec::load_by_halves(from); }
};

template <typename T, typename How, typename Step, int... k>
VEC_INLINE void all_ways(size_t i, Step &step, vec::Sequence<k...>)
{
  (step(i + static_cast<size_t>(k * Vectorized<T>::size()), k, How()), ...);
}

// Prefetches the cache line `bytes` after `here`: hardware prefetchers are too late for softmax and for shuffles. The
// address need not be valid.
VEC_INLINE void ask_ahead(const void *here, size_t bytes = 4096)
{
  vec::prefetch(reinterpret_cast<const char *>(reinterpret_cast<uintptr_t>(here) + bytes));
}

// Returns whether vector k of a loop begins a new cache line, so that each line is prefetched once.
constexpr bool begins_line(int k)
{
  return VECTOR_BYTES == 0 || k * VECTOR_BYTES % 64 == 0;
}

// Calls step(i, k, how) for every vector of n elements. i is the index of the vector's first element. k cycles through
// 0 .. ways - 1: with an accumulator for each k, operations do not wait for each other's latency. The last vectors, if
// they are fewer than `ways`, all have k = ways - 1.
template <int ways, typename T, typename How = Whole<T>, typename Step> VEC_INLINE void by_vectors(size_t n, Step step)
{
  constexpr size_t width = Vectorized<T>::size();
  size_t i = 0;
  for (; n - i >= ways * width; i += ways * width)
    all_ways<T, How>(i, step, typename vec::CountTo<ways>::type());
  if constexpr (ways > 1)
    for (; n - i >= width; i += width)
      step(i, ways - 1, How());
  if (i < n)
    step(i, ways - 1, Part<T>{n - i});
}

// Calls step(i, how) in order, by vectors of T, for a loop that writes `to[i]`. The loop writes past the caches if
// `past_caches` is set and elements are aligned; the kernel then calls vec::fence_streams() once, at its end.
template <typename T, typename To, typename Step>
VEC_INLINE void writing(const To *to, size_t n, bool past_caches, Step step)
{
  constexpr size_t width = Vectorized<T>::size(), bytes = sizeof(typename Vectorized<T>::Raw);
  const size_t over = reinterpret_cast<uintptr_t>(to) % bytes;
  size_t i = 0;
  if (past_caches && over % sizeof(To) == 0) {
    const size_t head = over == 0 ? 0 : (bytes - over) / sizeof(To);
    if (head > 0 && head < n)
      step(0, Part<T>{head});
    for (i = head < n ? head : 0; n - i >= width; i += width)
      step(i, Streamed<T>());
  } else {
    for (; n - i >= width; i += width)
      step(i, Whole<T>());
  }
  if (i < n)
    step(i, Part<T>{n - i});
}

} // namespace

#endif
