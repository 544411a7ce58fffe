// Reductions of isagen_kernels._core: of the items along one axis, several or all, to one item of the result.
#include "rows.h"

#include <math.h>

ISA_DEFINE_DISPATCH(sum_float_stub)
ISA_DEFINE_DISPATCH(sum_double_stub)
ISA_DEFINE_DISPATCH(sum_int32_stub)
ISA_DEFINE_DISPATCH(extremum_float_stub)
ISA_DEFINE_DISPATCH(extremum_double_stub)
ISA_DEFINE_DISPATCH(extremum_int32_stub)
ISA_DEFINE_DISPATCH(extremum_int8_stub)
ISA_DEFINE_DISPATCH(extremum_uint8_stub)
ISA_DEFINE_DISPATCH(sum_columns_float_stub)
ISA_DEFINE_DISPATCH(sum_columns_double_stub)
ISA_DEFINE_DISPATCH(sum_columns_int32_stub)
ISA_DEFINE_DISPATCH(extremum_columns_float_stub)
ISA_DEFINE_DISPATCH(extremum_columns_double_stub)
ISA_DEFINE_DISPATCH(extremum_columns_int32_stub)
ISA_DEFINE_DISPATCH(extremum_columns_int8_stub)
ISA_DEFINE_DISPATCH(extremum_columns_uint8_stub)
ISA_DEFINE_DISPATCH(logsumexp_float_stub)
ISA_DEFINE_DISPATCH(logsumexp_double_stub)

namespace {

constexpr char reduced_shape[] = "that of src without the reduced axes";

enum Reduction { SUM, MEAN, MAXIMUM, MINIMUM, LOGSUMEXP };

// Writes the sum of a row of `columns` items, or with `mean` its mean.
template <typename Sum, typename Out> void finish_sum(Out *dst, size_t row, Sum total, size_t columns, bool mean)
{
  if (mean)
    total = static_cast<Sum>(static_cast<double>(total) / static_cast<double>(columns));
  const Out result = static_cast<Out>(total);
  memcpy(reinterpret_cast<char *>(dst) + row * sizeof result, &result, sizeof result);
}

// Sums, or means, of long rows. sum(to, first, length) sets *to to the sum of the `length` items from `first` on, and
// returns false if there is no memory. Returns false in this case; so do the functions below.
template <typename Sum, typename Out, typename F>
bool sum_pieces(Out *dst, size_t rows, const Pieces &pieces, bool mean, int threads, const F &sum)
{
  Scratch<Sum> partial(rows * pieces.count);
  std::atomic<bool> done(static_cast<bool>(partial));
  if (!done)
    return false;
  for_pieces(rows, pieces, grain, threads, [&](size_t row, size_t i, size_t begin, size_t length) {
    if (!sum(partial.data() + row * pieces.count + i, row * pieces.columns + begin, length))
      done = false;
  });
  for (size_t row = 0; done && row < rows; row++) {
    Sum total = 0;
    for (size_t i = 0; i < pieces.count; i++)
      total += partial[row * pieces.count + i];
    finish_sum(dst, row, total, pieces.columns, mean);
  }
  return done;
}

// Sums, or means, of rows.
template <typename T, typename Out>
bool sum_of(Out *dst, const T *from, size_t rows, size_t columns, bool mean, int threads)
{
  using Sum = typename Stubs<T>::Sum;
  const Pieces pieces(columns);
  if (pieces.count > 1)
    return sum_pieces<Sum>(dst, rows, pieces, mean, threads, [&](Sum *to, size_t first, size_t length) {
      Stubs<T>::sum()(to, from + first, 1, length);
      return true;
    });
  parallel_for(
      0, rows, grain_of(columns, grain),
      [&](size_t first, size_t last) {
        constexpr size_t some = 256;
        Sum sums[some];
        for (size_t row = first; row < last; row += some) {
          const size_t count = last - row < some ? last - row : some;
          Stubs<T>::sum()(sums, from + row * columns, count, columns);
          for (size_t i = 0; i < count; i++)
            finish_sum(dst, row + i, sums[i], columns, mean);
        }
      },
      threads);
  return true;
}

// The same for long rows without gaps whose items have another type: each piece is converted by itself.
template <typename T, typename Out>
bool sum_of_converted(Out *dst, const Buffer &src, const Span &span, bool mean, int threads)
{
  using Sum = typename Stubs<T>::Sum;
  Span items = span;
  items.outer = span.outer * span.n;
  items.n = 1;
  const Gather<T> copy = gather_from<T>(src.type(), items);
  return sum_pieces<Sum>(dst, span.outer, Pieces(span.n), mean, threads, [&](Sum *to, size_t first, size_t length) {
    Scratch<T> converted(length);
    if (!converted)
      return false;
    copy(converted.data(), src.as<const void>(), items, {first, length, 0, 1});
    Stubs<T>::sum()(to, converted.data(), 1, length);
    return true;
  });
}

template <typename T> bool extremum_of(T *to, const T *from, size_t rows, size_t columns, bool largest, int threads)
{
  const Pieces pieces(columns);
  Scratch<T> partial(pieces.count > 1 ? rows * pieces.count : 0);
  if (!partial)
    return false;
  if (pieces.count == 1) {
    parallel_for(
        0, rows, grain_of(columns, grain),
        [&](size_t first, size_t last) {
          Stubs<T>::extremum()(to + first, from + first * columns, last - first, columns, largest);
        },
        threads);
  } else {
    for_pieces(rows, pieces, grain, threads, [&](size_t row, size_t i, size_t begin, size_t length) {
      Stubs<T>::extremum()(partial.data() + row * pieces.count + i, from + row * columns + begin, 1, length, largest);
    });
    Stubs<T>::extremum()(to, partial.data(), rows, pieces.count, largest);
  }
  return true;
}

template <typename T> bool logsumexp_of(T *to, const T *from, size_t rows, size_t columns, int threads)
{
  const Pieces pieces(columns);
  const size_t count = pieces.count > 1 ? pieces.count : 0;
  Scratch<T> partial(count);
  Scratch<double> sums(count);
  if (!partial || !sums)
    return false;
  if (pieces.count == 1)
    parallel_for(
        0, rows, grain_of(columns, short_grain),
        [&](size_t first, size_t last) {
          Stubs<T>::logsumexp()(to + first, from + first * columns, last - first, columns);
        },
        threads);
  else
    for (size_t row = 0; row < rows; row++) {
      T m;
      const double sum = exp_sum_in_pieces(static_cast<T *>(nullptr), from + row * columns, pieces, partial.data(),
                                           sums.data(), threads, &m);
      const T result = m - m == 0 ? static_cast<T>(m + log(sum)) : m;
      memcpy(reinterpret_cast<char *>(to) + row * sizeof result, &result, sizeof result);
    }
  return true;
}

// Reduces the axes of [outer][n][inner] items without moving them: reduce(to, from, rows, columns) writes the results
// of `columns` neighbouring positions, and finish(position, results, columns) takes those of all rows. A long axis is
// divided into pieces, whose results join(a, b) combines in their order. Returns false if there is no memory.
template <typename Part, typename T, typename Reduce, typename Join, typename Finish>
bool reduce_columns(const T *src, const Span &span, int threads, const Reduce &reduce, const Join &join, const Finish &finish)
{
  const size_t width = span.inner < most_columns ? span.inner : most_columns;
  const size_t strips = (span.inner + most_columns - 1) / most_columns;
  const size_t length = piece / width, pieces = span.n < 2 * length ? 1 : span.n / length;
  Scratch<Part> parts(pieces > 1 ? span.rows() * pieces : 0);
  if (!parts)
    return false;
  parallel_for(
      0, span.outer * pieces * strips, grain_of((pieces > 1 ? length : span.n) * width, grain),
      [&](size_t first, size_t last) {
        for (size_t task = first; task < last; task++) {
          const size_t i = task / strips % pieces, outer = task / strips / pieces;
          const size_t column = task % strips * most_columns, left = span.inner - column;
          const size_t columns = left < most_columns ? left : most_columns;
          const size_t row = i * length, rows = i + 1 < pieces ? length : span.n - row;
          const T *const from = src + (outer * span.n + row) * span.inner + column;
          if (pieces > 1) {
            reduce(parts.data() + (outer * pieces + i) * span.inner + column, from, rows, columns);
          } else {
            Part results[most_columns];
            reduce(results, from, rows, columns);
            finish(outer * span.inner + column, results, columns);
          }
        }
      },
      threads);
  for (size_t position = 0; pieces > 1 && position < span.rows(); position++) {
    const Part *const column = parts.data() + position / span.inner * pieces * span.inner + position % span.inner;
    Part result = column[0];
    for (size_t i = 1; i < pieces; i++)
      result = join(result, column[i * span.inner]);
    finish(position, &result, 1);
  }
  return true;
}

// Reduces the columns of src as items of type T.
template <Reduction reduction, typename T, typename Out>
bool reduce_columns_as(const T *src, Out *out, const Span &span, int threads)
{
  char *const to = reinterpret_cast<char *>(out);
  if constexpr (reduction == SUM || reduction == MEAN) {
    using Sum = typename Stubs<T>::Sum;
    return reduce_columns<Sum>(
        src, span, threads,
        [&](Sum *to, const T *from, size_t rows, size_t columns) {
          Stubs<T>::sum_columns()(to, from, rows, columns, span.inner);
        },
        [](Sum a, Sum b) { return a + b; },
        [&](size_t position, const Sum *sums, size_t columns) {
          const Sum divisor = static_cast<Sum>(reduction == MEAN ? span.n : 1);
          Out results[most_columns];
          for (size_t c = 0; c < columns; c++)
            results[c] = static_cast<Out>(reduction == MEAN ? sums[c] / divisor : sums[c]);
          memcpy(to + position * sizeof(Out), results, columns * sizeof(Out));
        });
  } else {
    constexpr bool largest = reduction == MAXIMUM;
    return reduce_columns<T>(
        src, span, threads,
        [&](T *to, const T *from, size_t rows, size_t columns) {
          Stubs<T>::extremum_columns()(to, from, rows, columns, span.inner, largest);
        },
        [](T a, T b) { return b != b || (largest ? b > a : b < a) ? b : a; },
        [&](size_t position, const T *extrema, size_t columns) {
          memcpy(to + position * sizeof(T), extrema, columns * sizeof(T));
        });
  }
}

// Reduces the rows of src as items of type T.
template <Reduction reduction, typename T, typename Out = T>
bool reduce_as(const Buffer &src, Out *out, const Span &span, int threads)
{
  // Fewer columns than a vector has items are faster as rows.
  if constexpr (reduction != LOGSUMEXP)
    if (span.is_regular && span.n > 1 && span.inner >= 16 && src.type() == number_type_of<T>())
      return reduce_columns_as<reduction>(src.as<const T>(), out, span, threads);
  if constexpr (reduction == SUM || reduction == MEAN)
    if (span.is_regular && span.inner == 1 && Pieces(span.n).count > 1 && !is_in_place<T>(src, span))
      return sum_of_converted<T>(out, src, span, reduction == MEAN, threads);
  const auto run = [](Out *to, const T *from, size_t rows, size_t columns, int few) {
    if constexpr (reduction == LOGSUMEXP)
      return logsumexp_of(to, from, rows, columns, few);
    else if constexpr (reduction == SUM || reduction == MEAN)
      return sum_of(to, from, rows, columns, reduction == MEAN, few);
    else
      return extremum_of(to, from, rows, columns, reduction == MAXIMUM, few);
  };
  return reduce_along<T>(out, src, span, threads, run);
}

// Reduces the rows of src as items of number_types[type].
template <Reduction reduction> bool reduce_rows(const Buffer &src, Result &out, int type, const Span &span, int threads)
{
  if (type == FLOAT32)
    return reduce_as<reduction, float>(src, out.as<float>(), span, threads);
  if (type == FLOAT64)
    return reduce_as<reduction, double>(src, out.as<double>(), span, threads);
  if constexpr (reduction == SUM)
    return reduce_as<reduction, int32_t>(src, out.as<int64_t>(), span, threads);
  if constexpr (reduction == MAXIMUM || reduction == MINIMUM) {
    if (type == INT32)
      return reduce_as<reduction, int32_t>(src, out.as<int32_t>(), span, threads);
    if (type == INT8)
      return reduce_as<reduction, int8_t>(src, out.as<int8_t>(), span, threads);
    return reduce_as<reduction, uint8_t>(src, out.as<uint8_t>(), span, threads);
  }
  return true; // the other reductions have no integers
}

// Returns the type in which a reduction gives NumPy's numbers for small integers: sums and means of them are exact.
constexpr const char *widened_of(Reduction reduction)
{
  switch (reduction) {
  case SUM: return "int64";
  case MEAN: return "float64";
  case LOGSUMEXP: return "float32";
  default: return nullptr; // extrema are of the type that they are taken from
  }
}

// reduce(src, axis, dtype, out, keepdims, threads)
template <Reduction reduction, TypeCount own_types> PyObject *reduce(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  int threads;
  uint64_t along;
  if (!has_arguments(count, 6) || !take_threads(args[5], &threads))
    return nullptr;
  PyObject *const dtype = args[2];
  if (!PyBool_Check(args[4]) && !PyLong_Check(args[4])) {
    PyErr_Format(PyExc_TypeError, "keepdims must be True or False, not %.100s", Py_TYPE(args[4])->tp_name);
    return nullptr;
  }
  const int keepdims = PyObject_IsTrue(args[4]);
  Buffer src(args[0], own_types, dtype, widened_of(reduction));
  if (keepdims < 0 || !src || !take_axes(args[1], true, src, &along))
    return nullptr;
  const Span span(src, along, Walk(src, along));
  const int type = take_dtype(dtype, src, reduction == SUM ? "int64" : nullptr);
  if (type < 0)
    return nullptr;
  Shape shape;
  for (int i = 0; i < src.axes(); i++)
    if (!(along >> i & 1))
      shape.add(src.axis(i));
    else if (keepdims)
      shape.add(1);
  const ItemType &item = reduction == SUM && type == INT32 ? int64 : number_types[type];
  Result out(reduction != MAXIMUM && reduction != MINIMUM);
  if (shape.axes() == 0)
    out.open_number(args[0], args[3], item, reduced_shape);
  else
    out.open(args[0], args[3], item, shape, reduced_shape);
  if (!out || !out.is_apart_from(src, false))
    return nullptr;
  if ((reduction == MAXIMUM || reduction == MINIMUM) && span.n == 0 && span.rows() > 0) {
    PyErr_SetString(PyExc_ValueError, "src must have items: there is no largest or smallest of none");
    return nullptr;
  }
  bool done = true;
  Py_BEGIN_ALLOW_THREADS
  if (span.rows() > 0)
    done = reduce_rows<reduction>(src, out, type, span, threads);
  Py_END_ALLOW_THREADS
  return done ? out.take() : PyErr_NoMemory();
}

} // namespace

PyMethodDef reduce_functions[] = {
    positional("sum", reduce<SUM, FLOATS_AND_INT32>, "sum(src, axis, dtype, out, keepdims, threads)"),
    positional("mean", reduce<MEAN, FLOATS>, "mean(src, axis, dtype, out, keepdims, threads)"),
    positional("max", reduce<MAXIMUM, ALL_NUMBERS>, "max(src, axis, dtype, out, keepdims, threads)"),
    positional("min", reduce<MINIMUM, ALL_NUMBERS>, "min(src, axis, dtype, out, keepdims, threads)"),
    positional("logsumexp", reduce<LOGSUMEXP, FLOATS>, "logsumexp(src, axis, dtype, out, keepdims, threads)"),
    {nullptr, nullptr, 0, nullptr},
};
