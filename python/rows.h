// Helpers of the functions on rows: the stubs of an element type, and the division of rows among threads.
//
// The division of a row depends on its length alone, so results do not depend on the number of threads. The exception
// is a prefix sum of floats, which is divided only if several threads run.
#ifndef ISAGEN_PYTHON_ROWS_H
#define ISAGEN_PYTHON_ROWS_H

#include "along.h"
#include "result.h"
#include "stubs/rows.h"

// Returns the type that a function computes with, an index of number_types: that of src, or the argument `dtype`, None
// or the name of a float type, or of `integer`, which stands for INT32. Returns -1 with TypeError set for another name,
// and for integers from floats.
inline int take_dtype(PyObject *dtype, const Buffer &src, const char *integer)
{
  if (dtype == Py_None)
    return src.type();
  const char *const name = PyUnicode_AsUTF8(dtype);
  if (name == nullptr)
    return -1;
  if (strcmp(name, "float32") == 0)
    return FLOAT32;
  if (strcmp(name, "float64") == 0)
    return FLOAT64;
  if (integer == nullptr || strcmp(name, integer) != 0)
    PyErr_Format(PyExc_TypeError, "dtype must be float32%s float64%s%s, not %.100s", integer ? "," : " or",
                 integer ? " or " : "", integer ? integer : "", name);
  else if (src.type() >= INT32)
    return INT32;
  else
    PyErr_Format(PyExc_TypeError, "dtype %s would cut off the fractions of src, which holds %s; leave dtype out, and round the result",
                 name, src.type_text().text);
  return -1;
}

constexpr size_t piece = 65536;       // elements of a long row's pieces
constexpr size_t grain = 65536;       // the fewest elements of a thread
constexpr size_t short_grain = 32768; // the same for slower operations, which take some 10 us for so many

// The pieces of a row: one, or several of `piece` elements, of which the last may be longer.
struct Pieces {
  size_t columns, count;
  explicit Pieces(size_t n) : columns(n), count(n < 2 * piece ? 1 : n / piece) {}
  size_t begin(size_t i) const { return i * piece; }
  size_t length(size_t i) const { return i + 1 < count ? piece : columns - i * piece; }
};

// Calls f(row, i, begin, length) for every piece of every row, in threads.
template <typename F> void for_pieces(size_t rows, const Pieces &pieces, size_t elements, int threads, const F &f)
{
  const size_t length = pieces.count > 1 ? piece : pieces.columns;
  parallel_for(
      0, rows * pieces.count, grain_of(length, elements),
      [&](size_t first, size_t last) {
        for (size_t task = first; task < last; task++) {
          const size_t row = task / pieces.count, i = task % pieces.count;
          f(row, i, pieces.begin(i), pieces.length(i));
        }
      },
      threads);
}

// The stubs of an element type.
template <typename T> struct Stubs;
template <> struct Stubs<float> {
  using Sum = double;
  static cumsum_fn<float> cumsum() { return cumsum_float_stub; }
  static sum_columns_float_fn sum_columns() { return sum_columns_float_stub; }
  static sum_float_fn sum() { return sum_float_stub; }
  static extremum_fn<float> extremum() { return extremum_float_stub; }
  static extremum_columns_fn<float> extremum_columns() { return extremum_columns_float_stub; }
  static softmax_fn<float> softmax() { return softmax_float_stub; }
  static logsumexp_fn<float> logsumexp() { return logsumexp_float_stub; }
  static exp_sum_fn<float> exp_sum() { return exp_sum_float_stub; }
  static rescale_fn<float> rescale() { return rescale_float_stub; }
};
template <> struct Stubs<double> {
  using Sum = double;
  static cumsum_fn<double> cumsum() { return cumsum_double_stub; }
  static sum_columns_double_fn sum_columns() { return sum_columns_double_stub; }
  static sum_double_fn sum() { return sum_double_stub; }
  static extremum_fn<double> extremum() { return extremum_double_stub; }
  static extremum_columns_fn<double> extremum_columns() { return extremum_columns_double_stub; }
  static softmax_fn<double> softmax() { return softmax_double_stub; }
  static logsumexp_fn<double> logsumexp() { return logsumexp_double_stub; }
  static exp_sum_fn<double> exp_sum() { return exp_sum_double_stub; }
  static rescale_fn<double> rescale() { return rescale_double_stub; }
};
template <> struct Stubs<int32_t> {
  using Sum = int64_t;
  static cumsum_fn<int32_t> cumsum() { return cumsum_int32_stub; }
  static sum_columns_int32_fn sum_columns() { return sum_columns_int32_stub; }
  static sum_int32_fn sum() { return sum_int32_stub; }
  static extremum_fn<int32_t> extremum() { return extremum_int32_stub; }
  static extremum_columns_fn<int32_t> extremum_columns() { return extremum_columns_int32_stub; }
};
template <> struct Stubs<int8_t> {
  static extremum_fn<int8_t> extremum() { return extremum_int8_stub; }
  static extremum_columns_fn<int8_t> extremum_columns() { return extremum_columns_int8_stub; }
};
template <> struct Stubs<uint8_t> {
  static extremum_fn<uint8_t> extremum() { return extremum_uint8_stub; }
  static extremum_columns_fn<uint8_t> extremum_columns() { return extremum_columns_uint8_stub; }
};

// Sets the maximum of a long row, NaN if the row has one. If it is finite, returns the sum of exp(x - maximum), and
// writes the terms to dst unless dst is null.
template <typename T>
double exp_sum_in_pieces(T *dst, const T *src, const Pieces &pieces, T *partial, double *sums, int threads, T *maximum)
{
  for_pieces(1, pieces, short_grain, threads, [&](size_t, size_t i, size_t begin, size_t length) {
    Stubs<T>::extremum()(partial + i, src + begin, 1, length, true);
  });
  Stubs<T>::extremum()(maximum, partial, 1, pieces.count, true);
  const T m = *maximum;
  if (m - m != 0)
    return 0;
  for_pieces(1, pieces, short_grain, threads, [&](size_t, size_t i, size_t begin, size_t length) {
    sums[i] = Stubs<T>::exp_sum()(dst ? dst + begin : nullptr, src + begin, length, m);
  });
  double total = 0;
  for (size_t i = 0; i < pieces.count; i++)
    total += sums[i];
  return total;
}

#endif
