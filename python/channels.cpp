// Channel shuffles of isagen_kernels._core.
#include "buffer.h"
#include "call.h"
#include "parallel.h"
#include "stubs/channels.h"

ISA_DEFINE_DISPATCH(shuffle_rows_stub)
ISA_DEFINE_DISPATCH(shuffle_pixels_stub)
ISA_DEFINE_DISPATCH(interleave_pixels_stub)

namespace {

constexpr size_t grain_bytes = 262144; // of the result, per thread at least

PyObject *channel_shuffle(PyObject *, PyObject *args)
{
  PyObject *src_object, *out_object;
  Integer groups{"groups"};
  int channels_last, threads;
  if (!PyArg_ParseTuple(args, "OOO&pO&", &src_object, &out_object, take_integer, &groups, &channels_last, take_threads,
                        &threads))
    return nullptr;
  Buffer src(src_object, "src", any_type);
  if (!src)
    return nullptr;
  Buffer out(out_object, "out", any_type, Access::write);
  if (!out || !out.has_type_of(src, true) || !out.has_items(src.items(), "as many as src") || !out.is_apart_from(src, false))
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
  if (src.items() == 0)
    Py_RETURN_NONE;
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
  Py_RETURN_NONE;
}

PyObject *concat_channel_shuffle(PyObject *, PyObject *args)
{
  PyObject *a_object, *b_object, *out_object;
  int threads;
  if (!PyArg_ParseTuple(args, "OOOO&", &a_object, &b_object, &out_object, take_threads, &threads))
    return nullptr;
  Buffer a(a_object, "a", any_type, Access::read, Layout::rows);
  if (!a)
    return nullptr;
  Buffer b(b_object, "b", any_type, Access::read, Layout::rows);
  if (!b || !b.has_type_of(a, false) || !b.has_shape_of(a))
    return nullptr;
  Buffer out(out_object, "out", any_type, Access::write);
  if (!out || !out.has_type_of(a, true) || !out.has_items(2 * a.items(), "twice as many as a") ||
      !out.is_apart_from(a, false) || !out.is_apart_from(b, false))
    return nullptr;
  if (a.items() == 0)
    Py_RETURN_NONE;
  const size_t channels = a.columns(), size = a.item_size(), bytes = 2 * channels * size;
  const bool past_caches = is_past_caches(2 * out.items() * size);
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
  Py_RETURN_NONE;
}

} // namespace

PyMethodDef channels_functions[] = {
    {"channel_shuffle", channel_shuffle, METH_VARARGS, "channel_shuffle(src, out, groups, channels_last, threads)"},
    {"concat_channel_shuffle", concat_channel_shuffle, METH_VARARGS, "concat_channel_shuffle(a, b, out, threads)"},
    {nullptr, nullptr, 0, nullptr},
};
