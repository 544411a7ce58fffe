// Code that linkers merge across levels: every function here is weak, works on floats, and returns its width.
#ifndef LEAKS_H
#define LEAKS_H

#include "width.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <vector>

// ---- std::sort: the comparison becomes part of std::__introsort_loop and its kin

struct less_noting_width {
  int *width;
  bool operator()(float a, float b) const
  {
    *width |= WIDTH; // parts of different levels show: 128 | 256
    return a < b;
  }
};

inline int sort_width(float *data, std::size_t n)
{
  int width = 0;
  std::sort(data, data + n, less_noting_width{&width});
  return width;
}

// ---- std::vector: copies become part of what makes it grow

struct item {
  float value;
  int *width;
  item(float v, int *w) : value(v), width(w) {}
  item(const item &other) : value(other.value * 1.5f), width(other.width) { *width |= WIDTH; }
};

inline int growth_width(float *data, std::size_t n)
{
  int width = 0;
  std::vector<item> items;
  for (std::size_t i = 0; i < n; i++)
    items.push_back(item(data[i], &width));
  data[0] = items.back().value;
  return width;
}

// ---- an inline method

class polynomial {
public:
  __attribute__((noinline)) int apply(float *data, std::size_t n) const
  {
    int width = WIDTH;
    for (std::size_t i = 0; i < n; i++)
      data[i] = (data[i] * two + one) * data[i];
    __asm__ volatile("" : "+r"(width) : "r"(data) : "memory"); // the compiler cannot know the result without this call
    return width;
  }

private:
  float one = 1, two = 2;
};

// ---- a static table of the level's vectors: its layout differs, too

#if defined(__AVX512F__)
typedef std::int32_t vector_type __attribute__((vector_size(64)));
#elif defined(__AVX2__)
typedef std::int32_t vector_type __attribute__((vector_size(32))); // as __m256i
#else
typedef std::int32_t vector_type __attribute__((vector_size(16)));
#endif

inline int table_width(volatile int row)
{
  static const vector_type table[] = {{}, vector_type{} + 1, vector_type{} + WIDTH};
  volatile vector_type chosen = table[row];
  vector_type all = chosen;
  return all[0];
}

// ---- a thread_local variable: the first access runs the constructor

extern volatile float seed;

struct scratch {
  float values[64];
  int width;
  scratch() : width(WIDTH)
  {
    for (float &value : values)
      value = seed * 1.5f;
  }
};

#ifndef WITHOUT_BUFFER
inline thread_local scratch buffer;

inline int buffer_width()
{
  return buffer.width;
}
#endif

// ---- an exception: its class is one for all, its code is each level's own

struct failure : std::exception {
  float value;
  int width;
  __attribute__((noinline)) failure(float x) : value(x * 1.5f), width(WIDTH) {}
  const char *what() const noexcept override { return "a level failed"; }
};

inline int failure_width(const float *data)
{
  try {
    throw failure(data[0]);
  } catch (const std::exception &caught) {
    return dynamic_cast<const failure &>(caught).width;
  }
}

// ---- a lambda of a header

template <class F> __attribute__((noinline)) void each(float *data, std::size_t n, F function)
{
  for (std::size_t i = 0; i < n; i++)
    data[i] = function(data[i]);
}

inline int lambda_width(float *data, std::size_t n)
{
  int width = 0;
  each(data, n, [&width](float x) {
    width |= WIDTH;
    return x * 1.5f + 1;
  });
  return width;
}

#endif
