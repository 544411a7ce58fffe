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
          const auto is_my_turn = [&] { return added.load(std::memory_order_acquire) == i; };
          for (parallel::wait_a_little(is_my_turn); !is_my_turn();)
            std::this_thread::yield();
          const T before = i > 0 ? static_cast<T>(all) : nothing;
          all += sum;
          added.store(i + 1, std::memory_order_release);
          Stubs<T>::cumsum()(dst + begin, src + begin, 1, length, before, past_caches);
        }
      },
      count);
}

template <typename T> bool cumsum_of(T *dst, const Buffer &src, const Span &span, int threads)
{
  const T nothing = static_cast<T>(-0.0); // the empty sum: adding it keeps -0.0
  const bool past_caches = is_in_place<T>(src, span) && is_past_caches(2 * src.items() * sizeof(T));
  const auto run = [&](T *to, const T *from, size_t rows, size_t columns, int few) {
    const int count = threads_for(columns, 2 * scan_piece<T>, few);
    if (rows < static_cast<size_t>(count)) {
      for (size_t row = 0; row < rows; row++)
        cumsum_row(to + row * columns, from + row * columns, columns, nothing, past_caches, count);
    } else {
      parallel_for(
          0, rows, grain_of(columns, grain),
          [&](size_t first, size_t last) {
            Stubs<T>::cumsum()(to + first * columns, from + first * columns, last - first, columns, nothing, past_caches);
          },
          few);
    }
    return true;
  };
  return scan_along<T>(dst, src, span, threads, run);
}

// cumsum(src, axis, dtype, out, threads)
PyObject *cumsum(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  int threads;
  uint64_t along;
  if (!has_arguments(count, 5) || !take_threads(args[4], &threads))
    return nullptr;
  PyObject *const axis = args[1], *const dtype = args[2];
  Buffer src(args[0], FLOATS_AND_INT32, dtype, "float64"); // sums in int32 might wrap
  if (!src || !take_axes(axis, false, src, &along))
    return nullptr;
  const int type = take_dtype(dtype, src, "int32");
  if (type < 0)
    return nullptr;
  const bool is_flat = axis == Py_None && src.axes() != 1;
  Shape shape;
  if (is_flat)
    shape.add(src.items());
  else
    shape = src.shape();
  Result out(true);
  out.open(args[0], args[3], number_types[type], shape, is_flat ? "one axis with all items of src" : "that of src");
  if (!out || !out.is_apart_from(src, true))
    return nullptr;
  const Span span(src, along);
  bool done = true;
  Py_BEGIN_ALLOW_THREADS
  if (src.items() == 0) // there may be a huge number of empty rows
    done = true;
  else if (type == FLOAT32)
    done = cumsum_of(out.as<float>(), src, span, threads);
  else if (type == FLOAT64)
    done = cumsum_of(out.as<double>(), src, span, threads);
  else
    done = cumsum_of(out.as<int32_t>(), src, span, threads);
  Py_END_ALLOW_THREADS
  return done ? out.take_scalar(true) : PyErr_NoMemory();
}

} // namespace

PyMethodDef scan_functions[] = {
    positional("cumsum", cumsum, "cumsum(src, axis, dtype, out, threads)"),
    {nullptr, nullptr, 0, nullptr},
};
