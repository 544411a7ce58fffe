// Sums over the values of an array that are not NaN, in loops that compilers vectorise. For kernel sources only.
//
// An array is read in chunks, a chunk in blocks of `rows` rows of `lanes` values. Each lane is summed down the rows in a
// tree, so that no addition waits for the one before, the error does not grow with the array, and the order of additions
// is the same at every level. The loops over lanes run on doubles, choose by a mask, and have no branches.
#ifndef BLOCKS_H
#define BLOCKS_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../stubs.h"

#if defined(__GNUC__)
#define INLINE inline __attribute__((always_inline))
#else
#define INLINE inline
#endif

namespace {

constexpr size_t lanes = 32, rows = 8, block = rows * lanes;
constexpr size_t chunk = 64 * block; // in cache when it is read a second time

constexpr double nan = NAN;

struct Array {
  const void *first;
  size_t count;
  ptrdiff_t stride;
};

// The sum of term(0) ... term(n - 1).
template <size_t n, size_t from = 0, typename Term> INLINE double sum_of(Term term)
{
  if constexpr (n == 1)
    return term(from);
  else
    return sum_of<n / 2, from>(term) + sum_of<n - n / 2, from + n / 2>(term);
}

template <size_t n = lanes> INLINE double sum_of_lanes(double (&lane)[lanes])
{
  if constexpr (n == 1) {
    return lane[0];
  } else {
    for (size_t l = 0; l < n / 2; l++)
      lane[l] += lane[l + n / 2];
    return sum_of_lanes<n / 2>(lane);
  }
}

// Reads the values of an array of T as doubles.
template <typename T> class Reader {
public:
  explicit Reader(const Array &array)
      : bytes(static_cast<const char *>(array.first)), stride(array.stride),
        contiguous(array.stride == sizeof(T) && reinterpret_cast<uintptr_t>(bytes) % alignof(T) == 0)
  {
  }

  // A block that begins with value i: where it is, or converted in a buffer.
  const double *whole_block(size_t i)
  {
    if constexpr (sizeof(T) == sizeof(double))
      if (contiguous)
        return reinterpret_cast<const double *>(bytes) + i;
    convert(i, block);
    return converted;
  }
  // A block of `count` values, and NaNs.
  const double *last_block(size_t i, size_t count)
  {
    for (double &value : converted)
      value = nan;
    convert(i, count);
    return converted;
  }

private:
  void convert(size_t i, size_t count)
  {
    const char *from = bytes + static_cast<ptrdiff_t>(i) * stride;
    if (contiguous) {
      convert(reinterpret_cast<const T *>(from), converted, count);
    } else {
      for (size_t k = 0; k < count; k++, from += stride) {
        T value; // any stride of bytes: it may be misaligned
        memcpy(&value, from, sizeof value);
        converted[k] = value;
      }
    }
  }
  static void convert(const T *__restrict from, double *__restrict to, size_t count)
  {
    for (size_t k = 0; k < count; k++)
      to[k] = from[k];
  }

  const char *const bytes;
  const ptrdiff_t stride;
  const bool contiguous;
  double converted[block];
};

// Calls pass.add(block) for values i ... i + count - 1.
template <typename T, typename Pass> void by_blocks(Reader<T> &reader, size_t i, size_t count, Pass &pass)
{
  for (; count >= block; i += block, count -= block)
    pass.add(reader.whole_block(i));
  if (count > 0)
    pass.add(reader.last_block(i, count));
}

// Calls step(first value, number of values) for each chunk, until it returns false; returns whether it never did.
template <typename Step> INLINE bool by_chunks(size_t count, Step step)
{
  for (size_t i = 0; i < count; i += chunk)
    if (!step(i, count - i < chunk ? count - i : chunk))
      return false;
  return true;
}

// The sum of a chunk's values that are not NaN, and their number.
class FirstPass {
public:
  void add(const double *values) { add(values, sums, counts); }
  double sum() { return sum_of_lanes(sums); }
  double count() { return sum_of_lanes(counts); }

private:
  static void add(const double *__restrict values, double *__restrict sums, double *__restrict counts)
  {
    for (size_t l = 0; l < lanes; l++) {
      const auto value = [&](size_t row) { return values[row * lanes + l]; };
      sums[l] += sum_of<rows>([&](size_t row) { return value(row) == value(row) ? value(row) : 0.0; });
      counts[l] += sum_of<rows>([&](size_t row) { return value(row) == value(row) ? 1.0 : 0.0; });
    }
  }

  double sums[lanes] = {}, counts[lanes] = {};
};

} // namespace

#endif
