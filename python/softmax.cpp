// softmax and log_softmax of isagen_kernels._core.
#include "rows.h"

#include <math.h>

ISA_DEFINE_DISPATCH(softmax_float_stub)
ISA_DEFINE_DISPATCH(softmax_double_stub)
ISA_DEFINE_DISPATCH(exp_sum_float_stub)
ISA_DEFINE_DISPATCH(exp_sum_double_stub)
ISA_DEFINE_DISPATCH(rescale_float_stub)
ISA_DEFINE_DISPATCH(rescale_double_stub)

namespace {

template <typename T>
void softmax_row(T *dst, const T *src, const Pieces &pieces, T *partial, double *sums, bool logarithm, bool past_caches,
                 int threads)
{
  T m;
  const double sum = exp_sum_in_pieces(logarithm ? static_cast<T *>(nullptr) : dst, src, pieces, partial, sums, threads, &m);
  const bool is_nan = m - m != 0; // a NaN, +inf, or only -inf
  const T factor = is_nan ? m - m : logarithm ? T(1) : static_cast<T>(1 / sum);
  const T after = logarithm ? static_cast<T>(log(sum)) : T(0);
  for_pieces(1, pieces, grain, threads, [&](size_t, size_t, size_t begin, size_t length) {
    const T *const from = logarithm || is_nan ? src : dst;
    Stubs<T>::rescale()(dst + begin, from + begin, length, logarithm ? m : T(0), factor, after, past_caches);
  });
}

template <typename T> bool softmax_of(T *dst, const Buffer &src, const Span &span, bool logarithm, int threads)
{
  const bool past_caches = is_in_place<T>(src, span) && is_past_caches(2 * src.items() * sizeof(T));
  const auto run = [&](T *to, const T *from, size_t rows, size_t columns, int few) {
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
            Stubs<T>::softmax()(to + first * columns, from + first * columns, last - first, columns, logarithm, past_caches);
          },
          few);
    else
      for (size_t row = 0; row < rows; row++)
        softmax_row(to + row * columns, from + row * columns, pieces, partial.data(), sums.data(), logarithm, past_caches,
                    few);
    return true;
  };
  return scan_along<T>(dst, src, span, threads, run);
}

// softmax(src, axis, dtype, out, threads), and log_softmax
template <bool logarithm> PyObject *softmax(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  int threads;
  uint64_t along;
  if (!has_arguments(count, 5) || !take_threads(args[4], &threads))
    return nullptr;
  PyObject *const dtype = args[2];
  Buffer src(args[0], FLOATS, dtype, "float32");
  if (!src || !take_axes(args[1], false, src, &along))
    return nullptr;
  const int type = take_dtype(dtype, src, nullptr);
  if (type < 0)
    return nullptr;
  Result out(true);
  out.open(args[0], args[3], number_types[type], src.shape(), "that of src");
  if (!out || !out.is_apart_from(src, true))
    return nullptr;
  const Span span(src, along);
  bool done = true;
  Py_BEGIN_ALLOW_THREADS
  if (src.items() > 0) // there may be a huge number of empty rows
    done = type == FLOAT32 ? softmax_of(out.as<float>(), src, span, logarithm, threads)
                           : softmax_of(out.as<double>(), src, span, logarithm, threads);
  Py_END_ALLOW_THREADS
  return done ? out.take_scalar(true) : PyErr_NoMemory();
}

} // namespace

PyMethodDef softmax_functions[] = {
    positional("softmax", softmax<false>, "softmax(src, axis, dtype, out, threads)"),
    positional("log_softmax", softmax<true>, "log_softmax(src, axis, dtype, out, threads)"),
    {nullptr, nullptr, 0, nullptr},
};
