// Prefix sums of isagen_kernels._core.
#include "rows.h"

#include <atomic>
#include <thread>

ISA_DEFINE_DISPATCH(cumsum_float_stub)
ISA_DEFINE_DISPATCH(cumsum_double_stub)
ISA_DEFINE_DISPATCH(cumsum_int32_stub)

namespace {

// The number of elements that stay in a core's cache between the two passes.
template <typename T> constexpr size_t scan_piece = 131072 / sizeof(T);

// One long row in two passes, piece by piece. A thread sums a piece, waits for the sum of all earlier pieces, publishes
// the sum for the next piece, and then computes the piece's prefix sums. dst may be src.
template <typename T> void cumsum_row(T *dst, const T *src, size_t n, T nothing, bool past_caches, int count)
{
  using Sum = typename Stubs<T>::Sum;
  constexpr size_t piece_length = scan_piece<T>;
  const size_t pieces = (n + piece_length - 1) / piece_length;
  std::atomic<size_t> taken{0}, added{0}; // pieces; taken in order, so a waiting thread waits for a running one
  Sum all = 0;                            // of the added pieces; only the thread whose turn it is uses it
  parallel_for(
      0, static_cast<size_t>(count), 1,
      [&](size_t, size_t) {
        for (size_t i = taken++; i < pieces; i = taken++) {
          const size_t begin = i * piece_length, length = n - begin < piece_length ? n - begin : piece_length;
          Sum sum;
          Stubs<T>::sum()(&sum, src + begin, 1, length);
          while (added.load(std::memory_order_acquire) != i)
            std::this_thread::yield();
          const T before = i > 0 ? static_cast<T>(all) : nothing;
          all += sum;
          added.store(i + 1, std::memory_order_release);
          Stubs<T>::cumsum()(dst + begin, src + begin, 1, length, before, past_caches);
        }
      },
      count);
}

template <typename T> void cumsum_of(const Buffer &src, const Buffer &out, int threads)
{
  const size_t rows = src.rows(), columns = src.columns();
  const T *const from = src.as<const T>();
  T *const to = out.as<T>();
  const T nothing = static_cast<T>(-0.0); // the empty sum: adding it keeps -0.0
  const bool past_caches = is_past_caches(2 * src.items() * sizeof(T));
  const int count = threads_for(columns, 2 * scan_piece<T>, threads);
  Py_BEGIN_ALLOW_THREADS
  if (rows < static_cast<size_t>(count)) {
    for (size_t row = 0; row < rows; row++)
      cumsum_row(to + row * columns, from + row * columns, columns, nothing, past_caches, count);
  } else {
    parallel_for(
        0, rows, grain_of(columns, grain),
        [&](size_t first, size_t last) {
          Stubs<T>::cumsum()(to + first * columns, from + first * columns, last - first, columns, nothing, past_caches);
        },
        threads);
  }
  Py_END_ALLOW_THREADS
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
  if (src.items() == 0) // there may be a huge number of empty rows
    Py_RETURN_NONE;
  switch (src.type()) {
  case 0: cumsum_of<float>(src, out, threads); break;
  case 1: cumsum_of<double>(src, out, threads); break;
  default: cumsum_of<int32_t>(src, out, threads);
  }
  Py_RETURN_NONE;
}

} // namespace

PyMethodDef scan_functions[] = {
    {"cumsum", cumsum, METH_VARARGS, "cumsum(src, out, threads)"},
    {nullptr, nullptr, 0, nullptr},
};
