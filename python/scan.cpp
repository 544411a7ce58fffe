// Prefix sums of isagen_kernels._core.
#include "rows.h"

ISA_DEFINE_DISPATCH(cumsum_float_stub)
ISA_DEFINE_DISPATCH(cumsum_double_stub)
ISA_DEFINE_DISPATCH(cumsum_int32_stub)

namespace {

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

} // namespace

PyMethodDef scan_functions[] = {
    {"cumsum", cumsum, METH_VARARGS, "cumsum(src, out, threads)"},
    {nullptr, nullptr, 0, nullptr},
};
