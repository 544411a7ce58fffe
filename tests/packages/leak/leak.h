// A weak function that every level compiles its own way, and inline data that all share.
#ifndef LEAK_H
#define LEAK_H

#include "isa_dispatch.h"

#include <cstddef>

template <class T> __attribute__((noinline)) int width_of_this_code(T value)
{
#if defined(__AVX512F__)
  int width = 512;
#elif defined(__AVX2__)
  int width = 256;
#else
  int width = 128;
#endif
  __asm__ volatile("" : "+r"(width) : "r"(value)); // nobody may know the answer without calling this very function
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

struct answer {
  int width, shared, calls;
};
typedef answer (*probe_fn)(float *data, std::size_t n);
ISA_DECLARE_DISPATCH(probe_fn, probe_stub)

#endif
