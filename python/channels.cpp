// Channel shuffles of isagen_kernels._core.
#include "call.h"
#include "parallel.h"
#include "result.h"
#include "stubs/channels.h"

ISA_DEFINE_DISPATCH(shuffle_rows_stub)
ISA_DEFINE_DISPATCH(shuffle_pixels_stub)
ISA_DEFINE_DISPATCH(interleave_pixels_stub)

namespace {

constexpr size_t grain_bytes = 262144; // of the result, per thread at least

// channel_shuffle(src, out, groups, channels_last, threads)
PyObject *channel_shuffle(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  Integer groups{"groups"};
  int threads;
  if (!has_arguments(count, 5) || !take_integer(args[2], &groups) || !take_threads(args[4], &threads))
    return nullptr;
  const int channels_last = PyObject_IsTrue(args[3]);
  Buffer src(args[0], "src", any_type);
  if (channels_last < 0 || !src)
    return nullptr;
  if (src.axes() < (channels_last ? 1 : 2)) {
    PyErr_Format(PyExc_ValueError, "src must have %s",
                 channels_last ? "one axis at least, the channels" : "two axes at least, images and channels");
    return nullptr;
  }
  const size_t channels = channels_last ? src.columns() : src.axis(1);
  if (groups.value < 1 || channels % static_cast<size_t>(groups.value) != 0) {
    PyErr_Format(PyExc_ValueError, "groups must divide the channels of src (%zu), and %ld does not", channels, groups.value);
    return nullptr;
  }
  Result out;
  out.open_like(args[0], args[1], src, src.shape(), "that of src");
  if (!out || !out.is_apart_from(src, false))
    return nullptr;
  if (src.items() == 0)
    return out.take();
  const size_t g = static_cast<size_t>(groups.value), per_group = channels / g, size = src.item_size();
  const size_t images = src.axis(0), image_items = channels_last ? 1 : src.items() / images / channels;
  const bool past_caches = is_past_caches(2 * src.items() * size);
  char *const to = out.as<char>();
  const char *const from = src.as<const char>();
  Py_BEGIN_ALLOW_THREADS
  if (channels_last || image_items == 1) {
    const size_t bytes = channels * size;
    parallel_for(
        0, src.items() / channels, grain_of(bytes, grain_bytes),
        [&](size_t first, size_t last) {
          shuffle_pixels_stub(to + first * bytes, from + first * bytes, last - first, g, per_group, size, past_caches);
        },
        threads);
  } else {
    const size_t bytes = image_items * size;
    parallel_for(
        0, images * channels, grain_of(bytes, grain_bytes),
        [&](size_t first, size_t last) { shuffle_rows_stub(to, from, first, last, g, per_group, bytes, past_caches); },
        threads);
  }
  Py_END_ALLOW_THREADS
  return out.take();
}

// concat_channel_shuffle(a, b, out, threads)
PyObject *concat_channel_shuffle(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  int threads;
  if (!has_arguments(count, 4) || !take_threads(args[3], &threads))
    return nullptr;
  Buffer a(args[0], "a", any_type, Access::read, Layout::rows);
  if (!a)
    return nullptr;
  Buffer b(args[1], "b", any_type, Access::read, Layout::rows);
  if (!b || !b.has_type_of(a, false) || !b.has_shape(a.shape(), "that of a"))
    return nullptr;
  Shape shape;
  for (int i = 0; i + 1 < a.axes(); i++)
    shape.add(a.axis(i));
  shape.add(2 * a.columns());
  Result out;
  out.open_like(args[0], args[2], a, shape, "that of a and b concatenated");
  if (!out || !out.is_apart_from(a, false) || !out.is_apart_from(b, false))
    return nullptr;
  if (a.items() == 0)
    return out.take();
  const size_t channels = a.columns(), size = a.item_size(), bytes = 2 * channels * size;
  const bool past_caches = is_past_caches(4 * a.items() * size);
  Py_BEGIN_ALLOW_THREADS
  parallel_for(
      0, a.rows(), grain_of(bytes, grain_bytes),
      [&](size_t first, size_t last) {
        interleave_pixels_stub(out.as<char>() + first * bytes, a.as<const char>() + first * a.row_stride(), a.row_stride(),
                               b.as<const char>() + first * b.row_stride(), b.row_stride(), last - first, channels, size,
                               past_caches);
      },
      threads);
  Py_END_ALLOW_THREADS
  return out.take();
}

} // namespace

PyMethodDef channels_functions[] = {
    positional("channel_shuffle", channel_shuffle, "channel_shuffle(src, out, groups, channels_last, threads)"),
    positional("concat_channel_shuffle", concat_channel_shuffle, "concat_channel_shuffle(a, b, out, threads)"),
    {nullptr, nullptr, 0, nullptr},
};
