// Prefix sums, reductions and softmax of isagen_kernels._core: rows among threads, long rows in pieces.
//
// How a row is cut depends on its length alone, so that results do not depend on the number of threads; but for a prefix
// sum of floats, whose pieces are summed twice only where threads gain by it.
#include "buffer.h"
#include "call.h"
#include "parallel.h"
#include "stubs/rows.h"

#include <math.h>

ISA_DEFINE_DISPATCH(cumsum_float_stub)
ISA_DEFINE_DISPATCH(cumsum_double_stub)
ISA_DEFINE_DISPATCH(cumsum_int32_stub)
ISA_DEFINE_DISPATCH(sum_float_stub)
ISA_DEFINE_DISPATCH(sum_double_stub)
ISA_DEFINE_DISPATCH(sum_int32_stub)
ISA_DEFINE_DISPATCH(extremum_float_stub)
ISA_DEFINE_DISPATCH(extremum_double_stub)
ISA_DEFINE_DISPATCH(extremum_int32_stub)
ISA_DEFINE_DISPATCH(extremum_int8_stub)
ISA_DEFINE_DISPATCH(extremum_uint8_stub)
ISA_DEFINE_DISPATCH(softmax_float_stub)
ISA_DEFINE_DISPATCH(softmax_double_stub)
ISA_DEFINE_DISPATCH(logsumexp_float_stub)
ISA_DEFINE_DISPATCH(logsumexp_double_stub)
ISA_DEFINE_DISPATCH(exp_sum_float_stub)
ISA_DEFINE_DISPATCH(exp_sum_double_stub)
ISA_DEFINE_DISPATCH(rescale_float_stub)
ISA_DEFINE_DISPATCH(rescale_double_stub)

namespace {

constexpr size_t piece = 65536;   // elements of a long row's pieces
constexpr size_t grain = 65536;   // elements of a thread's share, at least
constexpr size_t short_grain = 16384; // the same where an element takes longer

// Rows of so many columns that make a grain.
size_t grain_of(size_t columns, size_t elements)
{
  return columns == 0 || columns > elements ? 1 : elements / columns;
}

// How a row is cut: in one piece, or in pieces of `piece` and a last one of at least half that.
struct Pieces {
  size_t columns, count;
  explicit Pieces(size_t n) : columns(n), count(n < 2 * piece ? 1 : n / piece) {}
  size_t begin(size_t i) const { return i * piece; }
  size_t length(size_t i) const { return i + 1 < count ? piece : columns - i * piece; }
};

// f(row, i, begin, length) for every piece of every row, among threads.
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
  static sum_float_fn sum() { return sum_float_stub; }
  static extremum_fn<float> extremum() { return extremum_float_stub; }
  static softmax_fn<float> softmax() { return softmax_float_stub; }
  static logsumexp_fn<float> logsumexp() { return logsumexp_float_stub; }
  static exp_sum_fn<float> exp_sum() { return exp_sum_float_stub; }
  static rescale_fn<float> rescale() { return rescale_float_stub; }
};
template <> struct Stubs<double> {
  using Sum = double;
  static cumsum_fn<double> cumsum() { return cumsum_double_stub; }
  static sum_double_fn sum() { return sum_double_stub; }
  static extremum_fn<double> extremum() { return extremum_double_stub; }
  static softmax_fn<double> softmax() { return softmax_double_stub; }
  static logsumexp_fn<double> logsumexp() { return logsumexp_double_stub; }
  static exp_sum_fn<double> exp_sum() { return exp_sum_double_stub; }
  static rescale_fn<double> rescale() { return rescale_double_stub; }
};
template <> struct Stubs<int32_t> {
  using Sum = int64_t;
  static cumsum_fn<int32_t> cumsum() { return cumsum_int32_stub; }
  static sum_int32_fn sum() { return sum_int32_stub; }
  static extremum_fn<int32_t> extremum() { return extremum_int32_stub; }
};
template <> struct Stubs<int8_t> {
  static extremum_fn<int8_t> extremum() { return extremum_int8_stub; }
};
template <> struct Stubs<uint8_t> {
  static extremum_fn<uint8_t> extremum() { return extremum_uint8_stub; }
};

// ---- prefix sums

// One long row in two passes: the sums of pieces, then every thread's share from what is before it.
template <typename T>
void cumsum_row(T *dst, const T *src, size_t n, T nothing, bool past_caches, int count, typename Stubs<T>::Sum *sums)
{
  using Sum = typename Stubs<T>::Sum;
  const size_t pieces = n / piece;
  parallel_for(
      0, pieces, 1,
      [&](size_t first, size_t last) { Stubs<T>::sum()(sums + first, src + first * piece, last - first, piece); }, count);
  const size_t each = (pieces + static_cast<size_t>(count) - 1) / static_cast<size_t>(count);
  parallel_for(
      0, static_cast<size_t>(count), 1,
      [&](size_t first, size_t last) {
        for (size_t share = first; share < last && share * each < pieces; share++) {
          const size_t begin = share * each * piece, end = (share + 1) * each < pieces ? (share + 1) * each * piece : n;
          Sum before = 0;
          for (size_t i = 0; i < share * each; i++)
            before += sums[i];
          Stubs<T>::cumsum()(dst + begin, src + begin, 1, end - begin, share > 0 ? static_cast<T>(before) : nothing,
                             past_caches);
        }
      },
      count);
}

template <typename T> bool cumsum_of(const Buffer &src, const Buffer &out, int threads)
{
  const size_t rows = src.rows(), columns = src.columns();
  const T *const from = src.as<const T>();
  T *const to = out.as<T>();
  const T nothing = static_cast<T>(-0.0); // the sum of nothing, which leaves -0.0 alone
  const bool past_caches = is_past_caches(2 * src.items() * sizeof(T));
  const int count = threads_for(columns, 2 * piece, threads);
  const bool in_pieces = count > 1 && rows < static_cast<size_t>(count);
  Scratch<typename Stubs<T>::Sum> sums(in_pieces ? columns / piece : 0);
  if (!sums)
    return false;
  Py_BEGIN_ALLOW_THREADS
  if (in_pieces) {
    for (size_t row = 0; row < rows; row++)
      cumsum_row(to + row * columns, from + row * columns, columns, nothing, past_caches, count, sums.data());
  } else {
    parallel_for(
        0, rows, grain_of(columns, grain),
        [&](size_t first, size_t last) {
          Stubs<T>::cumsum()(to + first * columns, from + first * columns, last - first, columns, nothing, past_caches);
        },
        threads);
  }
  Py_END_ALLOW_THREADS
  return true;
}

PyObject *cumsum(PyObject *, PyObject *args)
{
  constexpr ItemType types[] = {float32, float64, int32};
  PyObject *src_object, *out_object;
  int threads;
  if (!PyArg_ParseTuple(args, "OOO&", &src_object, &out_object, take_threads, &threads))
    return nullptr;
  Buffer src(src_object, "src", types);
  if (!src)
    return nullptr;
  Buffer out(out_object, "out", types[src.type()], Access::write);
  if (!out || !out.has_items(src.items(), "as many as src") || !out.is_apart_from(src, true))
    return nullptr;
  const bool done = src.type() == 0   ? cumsum_of<float>(src, out, threads)
                    : src.type() == 1 ? cumsum_of<double>(src, out, threads)
                                      : cumsum_of<int32_t>(src, out, threads);
  if (!done)
    return nullptr;
  Py_RETURN_NONE;
}

// ---- reductions: every row, or all items as one row, to one item of out

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
  Scratch<Sum> sums(rows.count * pieces.count);
  if (!sums)
    return false;
  const T *const from = src.as<const T>();
  Out *const to = out.as<Out>();
  Py_BEGIN_ALLOW_THREADS
  if (pieces.count == 1)
    parallel_for(
        0, rows.count, grain_of(rows.columns, grain),
        [&](size_t first, size_t last) {
          Stubs<T>::sum()(sums.data() + first, from + first * rows.columns, last - first, rows.columns);
        },
        threads);
  else
    for_pieces(rows.count, pieces, grain, threads, [&](size_t row, size_t i, size_t begin, size_t length) {
      Stubs<T>::sum()(sums.data() + row * pieces.count + i, from + row * rows.columns + begin, 1, length);
    });
  for (size_t row = 0; row < rows.count; row++) {
    Sum total = 0;
    for (size_t i = 0; i < pieces.count; i++)
      total += sums[row * pieces.count + i];
    if (mean)
      total = static_cast<Sum>(static_cast<double>(total) / static_cast<double>(rows.columns));
    const Out result = static_cast<Out>(total);
    memcpy(reinterpret_cast<char *>(to) + row * sizeof result, &result, sizeof result);
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

// The maximum of a long row, NaN if there is one; then the sum of exp(x - maximum), with the terms in dst unless it is null.
template <typename T>
double exp_sum_in_pieces(T *dst, const T *src, const Pieces &pieces, T *partial, double *sums, int threads, T *maximum)
{
  for_pieces(1, pieces, short_grain, threads, [&](size_t, size_t i, size_t begin, size_t length) {
    Stubs<T>::extremum()(partial + i, src + begin, 1, length, true);
  });
  Stubs<T>::extremum()(maximum, partial, 1, pieces.count, true);
  const T m = *maximum;
  if (m != m || (m - m != 0 && dst == nullptr))
    return 0;
  for_pieces(1, pieces, short_grain, threads, [&](size_t, size_t i, size_t begin, size_t length) {
    sums[i] = Stubs<T>::exp_sum()(dst ? dst + begin : nullptr, src + begin, length, m);
  });
  double total = 0;
  for (size_t i = 0; i < pieces.count; i++)
    total += sums[i];
  return total;
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
constexpr ItemType float_types[] = {float32, float64};
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

// ---- softmax

template <typename T>
void softmax_row(T *dst, const T *src, const Pieces &pieces, T *partial, double *sums, bool logarithm, bool past_caches,
                 int threads)
{
  T m;
  const double sum = exp_sum_in_pieces(logarithm ? static_cast<T *>(nullptr) : dst, src, pieces, partial, sums, threads, &m);
  const bool is_nan = m - m != 0; // NaN, +inf, or nothing but -inf
  const T factor = is_nan ? m - m : logarithm ? T(1) : static_cast<T>(1 / sum);
  const T after = logarithm ? static_cast<T>(log(sum)) : T(0);
  for_pieces(1, pieces, grain, threads, [&](size_t, size_t, size_t begin, size_t length) {
    const T *const from = logarithm ? src : dst;
    Stubs<T>::rescale()(dst + begin, from + begin, length, logarithm ? m : T(0), factor, after, past_caches);
  });
}

template <typename T> bool softmax_of(const Buffer &src, const Buffer &out, bool logarithm, int threads)
{
  const size_t rows = src.rows(), columns = src.columns();
  const Pieces pieces(columns);
  const size_t count = pieces.count > 1 ? pieces.count : 0;
  Scratch<T> partial(count);
  Scratch<double> sums(count);
  if (!partial || !sums)
    return false;
  const T *const from = src.as<const T>();
  T *const to = out.as<T>();
  const bool past_caches = is_past_caches(2 * src.items() * sizeof(T));
  Py_BEGIN_ALLOW_THREADS
  if (pieces.count == 1)
    parallel_for(
        0, rows, grain_of(columns, short_grain),
        [&](size_t first, size_t last) {
          Stubs<T>::softmax()(to + first * columns, from + first * columns, last - first, columns, logarithm, past_caches);
        },
        threads);
  else
    for (size_t row = 0; row < rows; row++)
      softmax_row(to + row * columns, from + row * columns, pieces, partial.data(), sums.data(), logarithm, past_caches,
                  threads);
  Py_END_ALLOW_THREADS
  return true;
}

PyObject *softmax(PyObject *, PyObject *args)
{
  PyObject *src_object, *out_object;
  int logarithm, threads;
  if (!PyArg_ParseTuple(args, "OOpO&", &src_object, &out_object, &logarithm, take_threads, &threads))
    return nullptr;
  Buffer src(src_object, "src", float_types);
  if (!src)
    return nullptr;
  Buffer out(out_object, "out", float_types[src.type()], Access::write);
  if (!out || !out.has_items(src.items(), "as many as src") || !out.is_apart_from(src, true))
    return nullptr;
  if (!(src.type() == 0 ? softmax_of<float>(src, out, logarithm != 0, threads)
                        : softmax_of<double>(src, out, logarithm != 0, threads)))
    return nullptr;
  Py_RETURN_NONE;
}

} // namespace

PyMethodDef rows_functions[] = {
    {"cumsum", cumsum, METH_VARARGS, "cumsum(src, out, threads)"},
    {"sum", sum, METH_VARARGS, "sum(src, out, whole, threads)"},
    {"mean", mean, METH_VARARGS, "mean(src, out, whole, threads)"},
    {"max", max, METH_VARARGS, "max(src, out, whole, threads)"},
    {"min", min, METH_VARARGS, "min(src, out, whole, threads)"},
    {"logsumexp", logsumexp, METH_VARARGS, "logsumexp(src, out, whole, threads)"},
    {"softmax", softmax, METH_VARARGS, "softmax(src, out, logarithm, threads)"},
    {nullptr, nullptr, 0, nullptr},
};
