// Every operation of kernels/vec.h against scalar code. Prints the differences and the number of checks.
#include "vec.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

using namespace vec;

static int failures = 0, checks = 0;

#define CHECK(condition) check((condition), #condition, __LINE__)
static void check(bool good, const char *text, int line)
{
  checks++;
  if (!good && failures++ < 20)
    printf("line %d: %s\n", line, text);
}

template <typename T> static bool same(T a, T b)
{
  return memcmp(&a, &b, sizeof a) == 0;
}

// All lanes of `vector`, of element type T, against `scalar`, which may use i.
#define EACH(vector, scalar)                                                                                           \
  {                                                                                                                    \
    T got[n], want[n];                                                                                                 \
    (vector).store(got);                                                                                               \
    for (int i = 0; i < n; i++)                                                                                        \
      want[i] = (scalar);                                                                                              \
    check(memcmp(got, want, sizeof got) == 0, #vector, __LINE__);                                                      \
  }

// Arithmetic of the vectors' lanes: integers wrap.
template <typename T> static T plus(T a, T b)
{
  if constexpr (Float<T>::value)
    return a + b;
  else
    return static_cast<T>(static_cast<BitsOf<T>>(a) + static_cast<BitsOf<T>>(b));
}
template <typename T> static T minus(T a, T b)
{
  if constexpr (Float<T>::value)
    return a - b;
  else
    return static_cast<T>(static_cast<BitsOf<T>>(a) - static_cast<BitsOf<T>>(b));
}
template <typename T> static T times(T a, T b)
{
  if constexpr (Float<T>::value)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

template <typename T> static T multiplied_and_added(T a, T b, T c)
{
  if constexpr (sizeof(T) == sizeof(float))
    return fmaf(a, b, c);
  else
    return fma(a, b, c);
}

// As T has it: GCC's x87 code knows some values more precisely, in some places (GCC bug 323).
template <typename T> static T in_memory(T value)
{
  const volatile T stored = value;
  return stored;
}

static uint64_t state = 1;
static uint64_t random_bits()
{
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

template <typename T> static T random_value()
{
  if constexpr (Float<T>::value)
    return in_memory(static_cast<T>(static_cast<int64_t>(random_bits() >> 40) - (1 << 23)) / T(1000));
  else
    return static_cast<T>(random_bits());
}

template <typename T> static void memory()
{
  using Vec = Vectorized<T>;
  constexpr int n = Vec::size();
  unsigned char raw[4 * 64 + 4];
  T values[2 * n];
  for (T &value : values)
    value = random_value<T>();
  for (size_t offset = 0; offset < 3; offset++) {
    for (size_t count = 0; count <= static_cast<size_t>(n); count++) {
      memset(raw, 7, sizeof raw);
      memcpy(raw + offset, values, count * sizeof(T));
      const Vec zeros = Vec::loadu(raw + offset, count), others = Vec::loadu(raw + offset, count, values[n]);
      EACH(zeros, static_cast<size_t>(i) < count ? values[i] : T(0))
      EACH(others, static_cast<size_t>(i) < count ? values[i] : values[n])
      memset(raw, 7, sizeof raw);
      others.store(raw + offset, count);
      CHECK(memcmp(raw + offset, values, count * sizeof(T)) == 0);
      for (size_t i = offset + count * sizeof(T); i < sizeof raw; i++)
        CHECK(raw[i] == 7);
    }
    memset(raw, 7, sizeof raw);
    Vec::loadu(values).store(raw + offset);
    EACH(in_order(Vec::loadu(raw + offset)), values[i])
    EACH(load_by_halves(reinterpret_cast<const T *>(raw + offset)), values[i])
    CHECK(memcmp(raw + offset, values, sizeof(typename Vec::Raw)) == 0);
    CHECK(raw[offset + sizeof(typename Vec::Raw)] == 7);
    store_one(values[0], reinterpret_cast<T *>(raw + offset));
    CHECK(same(load_one(reinterpret_cast<const T *>(raw + offset)), values[0]));
  }
  alignas(64) T streamed[n];
  stream(Vec::loadu(values), streamed);
  fence_streams();
  CHECK(memcmp(streamed, values, sizeof streamed) == 0);
}

template <typename T> static void lanes()
{
  using Vec = Vectorized<T>;
  constexpr int n = Vec::size();
  for (int round = 0; round < 100; round++) {
    T a[n], b[n];
    for (int i = 0; i < n; i++) {
      a[i] = random_value<T>();
      b[i] = round % 3 == 0 && i % 2 ? a[i] : random_value<T>();
    }
    const Vec x = Vec::loadu(a), y = Vec::loadu(b);
    const Mask<T> larger = x > y;
    const size_t some = static_cast<size_t>(round % (n + 1));
    EACH(x + y, plus(a[i], b[i]))
    EACH(x - y, minus(a[i], b[i]))
    EACH(x * y, times(a[i], b[i]))
    EACH(Vec::blend(larger, x, y), a[i] > b[i] ? a[i] : b[i])
    EACH(Vec::blend(~(x <= y), x, y), a[i] > b[i] ? a[i] : b[i])
    EACH(Vec::blend((x < y) | (x == y), x, y), a[i] <= b[i] ? a[i] : b[i])
    EACH(Vec::blend((x >= y) & (x != y), x, y), a[i] > b[i] ? a[i] : b[i])
    EACH(minimum(x, y), a[i] < b[i] ? a[i] : b[i])
    EACH(maximum(x, y), a[i] > b[i] ? a[i] : b[i])
    EACH(x & y, bit_cast<T>(static_cast<BitsOf<T>>(bit_cast<BitsOf<T>>(a[i]) & bit_cast<BitsOf<T>>(b[i]))))
    EACH(x | y, bit_cast<T>(static_cast<BitsOf<T>>(bit_cast<BitsOf<T>>(a[i]) | bit_cast<BitsOf<T>>(b[i]))))
    EACH(x ^ y, bit_cast<T>(static_cast<BitsOf<T>>(bit_cast<BitsOf<T>>(a[i]) ^ bit_cast<BitsOf<T>>(b[i]))))
    EACH(Vec::iota(), static_cast<T>(i))
    EACH(Vec(a[0]), a[0])
    EACH(last(x), a[n - 1])
    EACH(Vec::blend(Mask<T>::first(some), x, y), static_cast<size_t>(i) < some ? a[i] : b[i])
    CHECK(same(x.lane(round % n), a[round % n]));
    if constexpr (Float<T>::value) {
      EACH(x / y, a[i] / b[i])
      T fused[n];
      fmadd(x, y, Vec(a[0])).store(fused);
      bool close = true; // rounded once or twice
      for (int i = 0; i < n; i++) {
        const volatile T product = a[i] * b[i];
        const T once = multiplied_and_added(a[i], b[i], a[0]), twice = static_cast<T>(product + a[0]);
        close &= same(fused[i], once) || same(fused[i], twice);
      }
      CHECK(close);
    } else {
      EACH(x << 3, static_cast<T>(static_cast<uint64_t>(a[i]) << 3))
      EACH(x >> 3, static_cast<T>(a[i] >> 3))
    }
    bool any = false;
    for (int i = 0; i < n; i++)
      any |= a[i] > b[i];
    CHECK(larger.any() == any);
    if constexpr (n > 1) {
      const Pair<T> woven = interleave2(x, y), back = deinterleave2(woven.first, woven.second);
      EACH(woven.first, i % 2 ? b[i / 2] : a[i / 2])
      EACH(woven.second, i % 2 ? b[(n + i) / 2] : a[(n + i) / 2])
      EACH(back.first, a[i])
      EACH(back.second, b[i])
      EACH(shift_in<1>(x, y), i < 1 ? b[n - 1] : a[i - 1])
      EACH(shift_in<n / 2>(x, y), i < n / 2 ? b[n / 2 + i] : a[i - n / 2])
      EACH(exchange<1>(x), a[i ^ 1])
    }
    T total = a[0], largest = a[0];
    for (int i = 1; i < n; i++) {
      total = plus(total, a[i]);
      largest = a[i] > largest ? a[i] : largest;
    }
    const T sum = reduce_all([](Vec p, Vec q) { return p + q; }, x);
    CHECK(Float<T>::value ? fabs(double(sum) - double(total)) < 1e-2 : same(sum, total));
    CHECK(same(reduce_all([](Vec p, Vec q) { return maximum(p, q); }, x), largest));
  }
  if constexpr (Float<T>::value) {
    const Vec nan(T(NAN)), one(T(1));
    CHECK(isnan(minimum(nan, one).lane(0)) && isnan(minimum(one, nan).lane(0)));
    CHECK(isnan(maximum(nan, one).lane(0)) && isnan(maximum(one, nan).lane(0)));
    CHECK(max_or_second(nan, one).lane(0) == 1 && min_or_second(nan, one).lane(0) == 1);
    CHECK(!(nan == nan).any() && (nan != nan).any() && !(nan < one).any() && !(nan >= one).any());
    CHECK(unordered(nan, one).any() && unordered(one, nan).any() && !unordered(one, one).any());
    CHECK(signbit(Vec(T(-0.0)).lane(0)));
  }
}

template <typename T> static double units(T got, long double want)
{
  const T rounded = static_cast<T>(want);
  if (isnan(rounded) || isinf(rounded) || isnan(got) || isinf(got))
    return (isnan(rounded) && isnan(got)) || got == rounded ? 0 : 1e9;
  const T next = static_cast<T>(nextafter(rounded, T(INFINITY)));
  return static_cast<double>(fabsl(got - want) / (static_cast<long double>(next) - rounded));
}

template <typename T> static T exp_of(T x)
{
  return in_memory(vec::exp(Vectorized<T>(x)).lane(0));
}

template <typename T> static void exponentials(double limit)
{
  double worst = 0;
  for (int i = 0; i < 400000; i++) {
    T x;
    if (i % 4 == 0) { // any bits at all
      const uint64_t bits = random_bits();
      memcpy(&x, &bits, sizeof x);
    } else {
      const T range = i % 4 == 1 ? T(limit) : i % 4 == 2 ? T(30) : T(1);
      x = in_memory(static_cast<T>((random_bits() >> 11) * 0x1p-52 - 1) * range);
    }
    const T y = exp_of(x);
    const double off = units(y, expl(x));
    worst = off > worst ? off : worst;
    if (x <= 0) {
      const T z = in_memory(exp_of_nonpositive(Vectorized<T>(x)).lane(0));
      CHECK(__FLT_EVAL_METHOD__ == 0 ? same(z, y) : units(z, expl(x)) < 1.1);
    }
  }
  CHECK(worst < 1.1);
  CHECK(exp_of(T(-0.0)) == 1 && exp_of(T(0)) == 1);
  CHECK(exp_of(T(INFINITY)) == T(INFINITY) && exp_of(T(-INFINITY)) == 0 && isnan(exp_of(T(NAN))));
  CHECK(in_memory(exp_of_nonpositive(Vectorized<T>(T(-INFINITY))).lane(0)) == 0);
  CHECK(isnan(exp_of_nonpositive(Vectorized<T>(T(NAN))).lane(0)));
  // Results of 0 are made without an underflow, which is slow: softmax of masked rows took fifteen times as long.
  const T masked[] = {T(-INFINITY), T(-1e9), T(-2000)};
  for (const T each : masked) {
    volatile T x = each;
    feclearexcept(FE_ALL_EXCEPT);
    CHECK(in_memory(exp_of_nonpositive(Vectorized<T>(T(x))).lane(0)) == 0);
    CHECK(!fetestexcept(FE_UNDERFLOW));
  }
}

static void logarithms()
{
  double worst = 0;
  for (uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 5003) {
    const float x = bit_cast<float>(bits);
    const double off = units(log_of_normal(Vectorized<float>(x)).lane(0), logl(x));
    worst = off > worst ? off : worst;
  }
  for (int i = -20000; i < 20000; i++) {
    const float x = static_cast<float>(1 + i * 1e-5);
    const double off = units(log_of_normal(Vectorized<float>(x)).lane(0), logl(x));
    worst = off > worst ? off : worst;
  }
  CHECK(worst < 1.5);
  CHECK(same(log_of_normal(Vectorized<float>(1.0f)).lane(0), 0.0f));
  CHECK(isnan(log_of_normal(Vectorized<float>(NAN)).lane(0)));
}

static uint16_t half_bits(float x)
{
  const uint16_t sign = signbit(x) ? 0x8000 : 0;
  const double size = fabs(static_cast<double>(x));
  if (size >= 65520)
    return sign | 0x7c00;
  if (size < 0x1p-14)
    return sign | static_cast<uint16_t>(nearbyint(ldexp(size, 24)));
  int exponent;
  frexp(size, &exponent);
  const int mantissa = static_cast<int>(nearbyint(ldexp(size, 11 - exponent))); // with the leading bit
  return sign | static_cast<uint16_t>(((exponent + 13) << 10) + mantissa);
}

static float half_value(uint16_t bits)
{
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double finite = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
  const double size = exponent == 31 ? INFINITY : finite;
  return static_cast<float>(bits & 0x8000 ? -size : size);
}

static void conversions()
{
  for (uint32_t i = 0; i < 65536; i++) {
    const uint16_t bits = static_cast<uint16_t>(i);
    const bool nan = (i & 0x7fff) > 0x7c00;
    const float wide = to_float(Vectorized<half>(half{bits})).first.lane(0);
    const uint32_t quiet = (i & 0x8000) << 16 | 0x7fc00000 | (i & 0x3ff) << 13;
    CHECK(bit_cast<uint32_t>(wide) == (nan ? quiet : bit_cast<uint32_t>(half_value(bits))));
    CHECK(bit_cast<uint32_t>(to_float(Vectorized<bfloat16>(bfloat16{bits})).second.lane(0)) == i << 16);
  }
  const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff};
  for (uint32_t high = 0; high < 65536; high++)
    for (uint32_t i : low) {
      const uint32_t bits = high << 16 | i;
      const float x = bit_cast<float>(bits);
      const bool nan = isnan(x);
      const Vectorized<float> v(x);
      const uint16_t narrow = to_half(v, v).lane(0).bits;
      CHECK(narrow == (nan ? (high & 0x8000) | 0x7e00 | (bits >> 13 & 0x3ff) : half_bits(x)));
      const uint32_t rounded = nan ? bits | 0x400000 : bits + 0x7fff + (high & 1);
      CHECK(to_bfloat16(v, v).lane(0).bits == rounded >> 16);
    }
  // Where lanes go, and that denormals in one of them change nothing in the others.
  constexpr int n = Vectorized<bfloat16>::size();
  float floats[n];
  for (int i = 0; i < n; i++)
    floats[i] = i == 1 ? 1e-40f : static_cast<float>(i + 1);
  const Pair<float> loaded = load_floats<bfloat16>(floats);
  for (int i = 0; i < n; i++) {
    CHECK(to_bfloat16(loaded.first, loaded.second).lane(i).bits == (bit_cast<uint32_t>(floats[i]) + 0x7fff +
                                                                    (bit_cast<uint32_t>(floats[i]) >> 16 & 1)) >> 16);
    CHECK(to_half(loaded.first, loaded.second).lane(i).bits == half_bits(floats[i]));
  }
  float back[n + 1] = {};
  for (size_t count = 0; count <= n; count++) {
    for (float &x : back)
      x = 7;
    store_floats<half>(load_floats<half>(floats, count), back, count);
    CHECK(memcmp(back, floats, count * sizeof(float)) == 0 && back[count] == 7);
  }
  const int32_t whole[] = {0, -1, 1 << 24, -(1 << 30), 123456};
  for (int32_t x : whole) {
    CHECK(to_float(Vectorized<int32_t>(x)).lane(0) == static_cast<float>(x));
    const float part = static_cast<float>(x) * 0.75f;
    CHECK(to_int32(Vectorized<float>(part)).lane(0) == static_cast<int32_t>(part));
  }
}

// Makes the CPU's float arithmetic treat denormals as zeros, as libraries built with -ffast-math do.
static void flush_denormals(bool yes)
{
#if defined(__SSE__)
  const unsigned flags = 0x8040; // FTZ and DAZ
  _mm_setcsr(yes ? _mm_getcsr() | flags : _mm_getcsr() & ~flags);
#elif defined(__aarch64__)
  const uint64_t fz = yes ? 1 << 24 : 0;
  __asm__ volatile("msr fpcr, %0" : : "r"(fz));
#else
  static_cast<void>(yes);
#endif
}

template <typename T> static void arithmetic_of_16_bits()
{
  constexpr int n = Vectorized<T>::size();
  T a[n], b[n];
  float x[n], y[n];
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < n; i++) {
      const Vectorized<float> p(random_value<float>()), q(random_value<float>());
      a[i] = from_floats<T>({p, p}).lane(0);
      b[i] = round % 2 && i % 3 ? a[i] : from_floats<T>({q, q}).lane(0);
      x[i] = to_float(Vectorized<T>(a[i])).first.lane(0);
      y[i] = to_float(Vectorized<T>(b[i])).first.lane(0);
    }
    const Vectorized<T> v = Vectorized<T>::loadu(a), w = Vectorized<T>::loadu(b);
    const auto rounded = [](float z) { return from_floats<T>({Vectorized<float>(z), Vectorized<float>(z)}).lane(0); };
    EACH(v + w, rounded(x[i] + y[i]))
    EACH(v - w, rounded(x[i] - y[i]))
    EACH(v * w, rounded(x[i] * y[i]))
    EACH(v / w, rounded(x[i] / y[i]))
    EACH(maximum(v, w), x[i] > y[i] ? a[i] : b[i])
    EACH(minimum(v, w), x[i] < y[i] ? a[i] : b[i])
    EACH(Vectorized<T>::blend(v > w, v, w), x[i] > y[i] ? a[i] : b[i])
    EACH(Vectorized<T>::blend(v <= w, v, w), x[i] <= y[i] ? a[i] : b[i])
    EACH(Vectorized<T>::blend(v == w, v, w), x[i] == y[i] ? a[i] : b[i])
    T fused[n];
    fmadd(v, w, v).store(fused);
    bool close = true;
    for (int i = 0; i < n; i++) {
      const volatile float product = x[i] * y[i];
      close &= same(fused[i], rounded(fmaf(x[i], y[i], x[i]))) || same(fused[i], rounded(product + x[i]));
    }
    CHECK(close);
  }
}

template <typename T> static void everything()
{
  memory<T>();
  lanes<T>();
}

int main()
{
  everything<float>(), everything<uint8_t>(), everything<int32_t>();
#ifndef FEW_TYPES
  everything<double>(), everything<int8_t>(), everything<int16_t>(), everything<uint16_t>();
  everything<uint32_t>(), everything<int64_t>(), everything<uint64_t>();
  exponentials<double>(746);
  arithmetic_of_16_bits<bfloat16>();
#endif
  exponentials<float>(104);
  logarithms();
  conversions();
  flush_denormals(true);
  conversions();
  flush_denormals(false);
  arithmetic_of_16_bits<half>();
  printf("%d bytes, %d checks, %d failures\n", VECTOR_BYTES, checks, failures);
  return failures > 0;
}
