// A weak function that every level compiles differently, and inline data that all levels share.
#ifndef LEAK_H
#define LEAK_H

#include "isa_dispatch.h"

#include <cstddef>

template <class T> __attribute__((noinline)) int width_of_this_code(T value)
{
#if defined(__AVX512F__)
  int width = 512;
#elif defined(__AVX2__) || (defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 256)
  int width = 256;
#else
  int width = 128;
#endif
  __asm__ volatile("" : "+r"(width) : "r"(value)); // the compiler cannot know the result without this call
  return width;
}

inline int shared_counter = 0;

template <class T> __attribute__((noinline)) int count_calls(T value)
{
  static int calls = 0;
  __asm__ volatile("" : : "r"(value));
  return ++calls;
}

template <class T> __attribute__((noinline)) void twice(T *data, std::size_t n)
{
  for (std::size_t i = 0; i < n; i++)
    data[i] = data[i] * 2 + 1;
}

// Its vtable, a weak constant, holds the address of a level's code.
template <class T> struct shape {
  virtual ~shape() {}
  virtual int width(T value) const { return width_of_this_code(value); }
};

__attribute__((noinline)) inline int width_by_vtable(const shape<int> &s)
{
  return s.width(0);
}

// A constant whose layout depends on the level's vectors.
#if defined(__AVX512F__)
#define LANES 16
#elif defined(__AVX2__) || (defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 256)
#define LANES 8
#else
#define LANES 4
#endif
struct lanes {
  int value[LANES];
};
constexpr lanes all(int value)
{
  lanes result = {};
  for (int &lane : result.value)
    lane = value;
  return result;
}
inline const lanes threes = all(3);

struct answer {
  int width, shared, calls, vtable, sum;
};
typedef answer (*probe_fn)(float *data, std::size_t n);
ISA_DECLARE_DISPATCH(probe_fn, probe_stub)

#endif
