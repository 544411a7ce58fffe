// Reductions of isagen_kernels._core: of every row, or of all items as one row, to one item of out.
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
ISA_DEFINE_DISPATCH(logsumexp_float_stub)
ISA_DEFINE_DISPATCH(logsumexp_double_stub)

namespace {

enum Reduction { SUM, MEAN, MAXIMUM, MINIMUM, LOGSUMEXP };

struct Rows {
  size_t count, columns;
  Rows(const Buffer &src, bool whole)
      : count(whole ? 1 : src.rows()), columns(whole ? src.items() : src.columns())
  {
  }
};

template <typename T, typename Out> bool sum_of(const Buffer &src, const Buffer &out, Rows rows, bool mean, int threads)
{
  using Sum = typename Stubs<T>::Sum;
  const Pieces pieces(rows.columns);
  Scratch<Sum> partial(pieces.count > 1 ? rows.count * pieces.count : 0);
  if (!partial)
    return false;
  const T *const from = src.as<const T>();
  char *const to = out.as<char>();
  const auto finish = [&](size_t row, Sum total) {
    if (mean)
      total = static_cast<Sum>(static_cast<double>(total) / static_cast<double>(rows.columns));
    const Out result = static_cast<Out>(total);
    memcpy(to + row * sizeof result, &result, sizeof result);
  };
  Py_BEGIN_ALLOW_THREADS
  if (pieces.count == 1) {
    parallel_for(
        0, rows.count, grain_of(rows.columns, grain),
        [&](size_t first, size_t last) {
          constexpr size_t some = 256;
          Sum sums[some];
          for (size_t row = first; row < last; row += some) {
            const size_t count = last - row < some ? last - row : some;
            Stubs<T>::sum()(sums, from + row * rows.columns, count, rows.columns);
            for (size_t i = 0; i < count; i++)
              finish(row + i, sums[i]);
          }
        },
        threads);
  } else {
    for_pieces(rows.count, pieces, grain, threads, [&](size_t row, size_t i, size_t begin, size_t length) {
      Stubs<T>::sum()(partial.data() + row * pieces.count + i, from + row * rows.columns + begin, 1, length);
    });
    for (size_t row = 0; row < rows.count; row++) {
      Sum total = 0;
      for (size_t i = 0; i < pieces.count; i++)
        total += partial[row * pieces.count + i];
      finish(row, total);
    }
  }
  Py_END_ALLOW_THREADS
  return true;
}

template <typename T> bool extremum_of(const Buffer &src, const Buffer &out, Rows rows, bool largest, int threads)
{
  const Pieces pieces(rows.columns);
  Scratch<T> partial(pieces.count > 1 ? rows.count * pieces.count : 0);
  if (!partial)
    return false;
  const T *const from = src.as<const T>();
  T *const to = out.as<T>();
  Py_BEGIN_ALLOW_THREADS
  if (pieces.count == 1) {
    parallel_for(
        0, rows.count, grain_of(rows.columns, grain),
        [&](size_t first, size_t last) {
          Stubs<T>::extremum()(to + first, from + first * rows.columns, last - first, rows.columns, largest);
        },
        threads);
  } else {
    for_pieces(rows.count, pieces, grain, threads, [&](size_t row, size_t i, size_t begin, size_t length) {
      Stubs<T>::extremum()(partial.data() + row * pieces.count + i, from + row * rows.columns + begin, 1, length, largest);
    });
    Stubs<T>::extremum()(to, partial.data(), rows.count, pieces.count, largest);
  }
  Py_END_ALLOW_THREADS
  return true;
}

template <typename T> bool logsumexp_of(const Buffer &src, const Buffer &out, Rows rows, int threads)
{
  const Pieces pieces(rows.columns);
  const size_t count = pieces.count > 1 ? pieces.count : 0;
  Scratch<T> partial(count);
  Scratch<double> sums(count);
  if (!partial || !sums)
    return false;
  const T *const from = src.as<const T>();
  T *const to = out.as<T>();
  Py_BEGIN_ALLOW_THREADS
  if (pieces.count == 1)
    parallel_for(
        0, rows.count, grain_of(rows.columns, short_grain),
        [&](size_t first, size_t last) {
          Stubs<T>::logsumexp()(to + first, from + first * rows.columns, last - first, rows.columns);
        },
        threads);
  else
    for (size_t row = 0; row < rows.count; row++) {
      T m;
      const double sum = exp_sum_in_pieces(static_cast<T *>(nullptr), from + row * rows.columns, pieces, partial.data(),
                                           sums.data(), threads, &m);
      const T result = m - m == 0 ? static_cast<T>(m + log(sum)) : m;
      memcpy(reinterpret_cast<char *>(to) + row * sizeof result, &result, sizeof result);
    }
  Py_END_ALLOW_THREADS
  return true;
}

bool has_columns(const Buffer &src, Rows rows)
{
  if (rows.columns > 0 || rows.count == 0)
    return true;
  PyErr_Format(PyExc_ValueError, "%s must have items: there is no largest or smallest of none", src.name());
  return false;
}

// reduce(src, out, whole, threads)
template <Reduction reduction, size_t n>
PyObject *reduce(PyObject *args, const ItemType (&types)[n])
{
  PyObject *src_object, *out_object;
  int whole, threads;
  if (!PyArg_ParseTuple(args, "OOpO&", &src_object, &out_object, &whole, take_threads, &threads))
    return nullptr;
  Buffer src(src_object, "src", types);
  if (!src)
    return nullptr;
  const Rows rows(src, whole != 0);
  const bool to_int64 = reduction == SUM && src.type() == 2;
  Buffer out(out_object, "out", to_int64 ? int64 : types[src.type()], Access::write);
  if (!out || !out.has_items(rows.count, "one for each row of src") || !out.is_apart_from(src, false))
    return nullptr;
  bool done = true;
  if constexpr (reduction == LOGSUMEXP) {
    done = src.type() == 0 ? logsumexp_of<float>(src, out, rows, threads) : logsumexp_of<double>(src, out, rows, threads);
  } else if constexpr (reduction == SUM || reduction == MEAN) {
    if (src.type() == 0)
      done = sum_of<float, float>(src, out, rows, reduction == MEAN, threads);
    else if (src.type() == 1)
      done = sum_of<double, double>(src, out, rows, reduction == MEAN, threads);
    else
      done = sum_of<int32_t, int64_t>(src, out, rows, false, threads);
  } else {
    constexpr bool largest = reduction == MAXIMUM;
    if (!has_columns(src, rows))
      return nullptr;
    switch (src.type()) {
    case 0: done = extremum_of<float>(src, out, rows, largest, threads); break;
    case 1: done = extremum_of<double>(src, out, rows, largest, threads); break;
    case 2: done = extremum_of<int32_t>(src, out, rows, largest, threads); break;
    case 3: done = extremum_of<int8_t>(src, out, rows, largest, threads); break;
    default: done = extremum_of<uint8_t>(src, out, rows, largest, threads);
    }
  }
  if (!done)
    return nullptr;
  Py_RETURN_NONE;
}

constexpr ItemType sum_types[] = {float32, float64, int32};
constexpr ItemType ordered_types[] = {float32, float64, int32, int8, uint8};

PyObject *sum(PyObject *, PyObject *args)
{
  return reduce<SUM>(args, sum_types);
}
PyObject *mean(PyObject *, PyObject *args)
{
  return reduce<MEAN>(args, float_types);
}
PyObject *max(PyObject *, PyObject *args)
{
  return reduce<MAXIMUM>(args, ordered_types);
}
PyObject *min(PyObject *, PyObject *args)
{
  return reduce<MINIMUM>(args, ordered_types);
}
PyObject *logsumexp(PyObject *, PyObject *args)
{
  return reduce<LOGSUMEXP>(args, float_types);
}

} // namespace

PyMethodDef reduce_functions[] = {
    {"sum", sum, METH_VARARGS, "sum(src, out, whole, threads)"},
    {"mean", mean, METH_VARARGS, "mean(src, out, whole, threads)"},
    {"max", max, METH_VARARGS, "max(src, out, whole, threads)"},
    {"min", min, METH_VARARGS, "min(src, out, whole, threads)"},
    {"logsumexp", logsumexp, METH_VARARGS, "logsumexp(src, out, whole, threads)"},
    {nullptr, nullptr, 0, nullptr},
};
