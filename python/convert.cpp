// Conversions of isagen_kernels._core: float32 to bfloat16 and float16, and back.
#include "call.h"
#include "parallel.h"
#include "result.h"
#include "stubs/convert.h"

ISA_DEFINE_DISPATCH(cvt_fp32_to_bf16_stub)
ISA_DEFINE_DISPATCH(cvt_fp32_to_fp16_stub)
ISA_DEFINE_DISPATCH(cvt_bf16_to_fp32_stub)
ISA_DEFINE_DISPATCH(cvt_fp16_to_fp32_stub)

namespace {

constexpr size_t grain = 65536; // elements: 384 KB read and written, a few microseconds

// Converts src, of `From` items, to out, of `To` items, with the given stub.
template <typename To, typename From, typename Stub>
PyObject *convert(PyObject *const *args, Py_ssize_t count, const ItemType &from, const ItemType &to, Stub stub)
{
  int threads;
  if (!has_arguments(count, 3) || !take_threads(args[2], &threads))
    return nullptr;
  Buffer src(args[0], "src", from);
  if (!src)
    return nullptr;
  Result out;
  out.open(args[0], args[1], to, src.shape(), "that of src");
  if (!out || !out.is_apart_from(src, false))
    return nullptr;
  const size_t n = src.items();
  const bool past_caches = is_past_caches(n * (sizeof(To) + sizeof(From)));
  Py_BEGIN_ALLOW_THREADS
  parallel_for(
      0, n, grain,
      [&](size_t first, size_t last) {
        stub(out.as<To>() + first, src.as<const From>() + first, last - first, past_caches);
      },
      threads);
  Py_END_ALLOW_THREADS
  return out.take_scalar(false);
}

PyObject *cvt_fp32_to_bf16(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  return convert<uint16_t, float>(args, count, float32, bfloat16, cvt_fp32_to_bf16_stub);
}
PyObject *cvt_fp32_to_fp16(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  return convert<uint16_t, float>(args, count, float32, float16, cvt_fp32_to_fp16_stub);
}
PyObject *cvt_bf16_to_fp32(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  return convert<float, uint16_t>(args, count, bfloat16, float32, cvt_bf16_to_fp32_stub);
}
PyObject *cvt_fp16_to_fp32(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  return convert<float, uint16_t>(args, count, float16, float32, cvt_fp16_to_fp32_stub);
}

} // namespace

PyMethodDef convert_functions[] = {
    positional("cvt_fp32_to_bf16", cvt_fp32_to_bf16, "cvt_fp32_to_bf16(src, out, threads)"),
    positional("cvt_fp32_to_fp16", cvt_fp32_to_fp16, "cvt_fp32_to_fp16(src, out, threads)"),
    positional("cvt_bf16_to_fp32", cvt_bf16_to_fp32, "cvt_bf16_to_fp32(src, out, threads)"),
    positional("cvt_fp16_to_fp32", cvt_fp16_to_fp32, "cvt_fp16_to_fp32(src, out, threads)"),
    {nullptr, nullptr, 0, nullptr},
};
