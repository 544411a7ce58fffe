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
  if (src.items() == 0) // there may be a huge number of empty rows
    Py_RETURN_NONE;
  if (!(src.type() == 0 ? softmax_of<float>(src, out, logarithm != 0, threads)
                        : softmax_of<double>(src, out, logarithm != 0, threads)))
    return nullptr;
  Py_RETURN_NONE;
}

} // namespace

PyMethodDef softmax_functions[] = {
    {"softmax", softmax, METH_VARARGS, "softmax(src, out, logarithm, threads)"},
    {nullptr, nullptr, 0, nullptr},
};
