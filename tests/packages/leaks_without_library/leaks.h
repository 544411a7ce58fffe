// Code that linkers merge across levels: every function here is weak, works on floats, and returns its width.
#ifndef LEAKS_H
#define LEAKS_H

#if defined(__AVX512F__)
#define WIDTH 512
#elif defined(__AVX2__)
#define WIDTH 256
#else
#define WIDTH 128
#endif

#ifdef _MSC_VER
#define NOINLINE __declspec(noinline)
#else
#define NOINLINE __attribute__((noinline))
#endif

extern volatile float seed;

// ---- a template

template <class T> NOINLINE int sort_width(T *data, int n)
{
  int width = WIDTH;
  for (int i = 1; i < n; i++)
    for (int j = i; j > 0 && data[j] * 1.5f < data[j - 1] * 1.5f; j--) {
      T other = data[j];
      data[j] = data[j - 1];
      data[j - 1] = other;
      width |= WIDTH;
    }
  return width;
}

// ---- an inline method, and a virtual one

class polynomial {
public:
  NOINLINE int apply(float *data, int n) const
  {
    for (int i = 0; i < n; i++)
      data[i] = (data[i] * two + one) * data[i];
    return seed < 0 ? 0 : WIDTH;
  }

private:
  float one = 1, two = 2;
};

struct shape {
  float size = seed;
  virtual ~shape() = default;
  virtual int width() const { return 0; }
};

struct square : shape {
  int width() const override { return size * 2.5f < 0 ? 0 : WIDTH; }
};

NOINLINE inline int virtual_width(const shape &one)
{
  return one.width();
}

// ---- a table, whose layout is the level's

inline int table_width(volatile int row)
{
  static const int table[][WIDTH / 32] = {{}, {1}, {WIDTH}};
  return table[row][0];
}

// ---- a static variable that code initialises, and one that it does not: all levels share the latter

struct scratch {
  float values[64];
  int width;
  scratch() : width(WIDTH)
  {
    for (float &value : values)
      value = seed * 1.5f;
  }
};

NOINLINE inline int static_width()
{
  static scratch buffer;
  return buffer.width;
}

NOINLINE inline int counted()
{
  static int calls = 0;
  return ++calls;
}

// ---- an exception: its class is one for all, its code is each level's own

struct problem {
  virtual ~problem() = default;
  virtual int width() const { return 0; }
};

struct failure : problem {
  float value;
  int own;
  NOINLINE failure(float x) : value(x * 1.5f), own(WIDTH) {}
  failure(const failure &other) : problem(other), value(other.value * 1.5f), own(other.own) {}
  int width() const override { return own; }
};

inline int failure_width(const float *data)
{
  try {
    throw failure(data[0]);
  } catch (const problem &caught) {
    return dynamic_cast<const failure &>(caught).own;
  }
}

// ---- a lambda of a header

template <class F> NOINLINE void each(float *data, int n, F function)
{
  for (int i = 0; i < n; i++)
    data[i] = function(data[i]);
}

inline int lambda_width(float *data, int n)
{
  int width = 0;
  each(data, n, [&width](float x) {
    width |= WIDTH;
    return x * 1.5f + 1;
  });
  return width;
}

#endif
