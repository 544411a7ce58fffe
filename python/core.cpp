// The Python extension isagen_kernels._core: buffers in, kernels called through their stubs, results out.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "isa_python.h"
#include "stubs.h"

#include <string.h>

ISA_DEFINE_DISPATCH(cvt_fp32_to_bf16_stub)
ISA_DEFINE_DISPATCH(sum_stub)
ISA_DEFINE_DISPATCH(vector_size_stub)
ISA_DEFINE_DISPATCH(level_name_stub)

namespace {

// A C-contiguous view of a buffer whose items have one of the given struct-module formats; released at the end of scope.
class Buffer {
public:
  Buffer(PyObject *object, const char *name, const char *formats, const char *type, bool writable)
  {
    if (PyObject_GetBuffer(object, &view_, writable ? PyBUF_FULL : PyBUF_FULL_RO) < 0)
      return;
    held_ = true;
    if (!has_format(formats))
      PyErr_Format(PyExc_TypeError, "%s must hold %s, but its buffer format is '%s'", name, type,
                   view_.format ? view_.format : "B");
    else if (!PyBuffer_IsContiguous(&view_, 'C'))
      PyErr_Format(PyExc_ValueError, "%s must be C-contiguous", name);
    else
      usable_ = true;
  }
  ~Buffer()
  {
    if (held_)
      PyBuffer_Release(&view_);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  explicit operator bool() const { return usable_; }
  void *data() const { return view_.buf; }
  size_t items() const { return static_cast<size_t>(view_.len / view_.itemsize); }

private:
  // Native byte order may be spelled '@', '=' or not at all, and as '<' or '>' by ctypes.
  bool has_format(const char *formats) const
  {
    const char *format = view_.format ? view_.format : "B";
    const int one = 1;
    const char native = *reinterpret_cast<const char *>(&one) ? '<' : '>';
    if (*format == '@' || *format == '=' || *format == native)
      format++;
    return *format && strchr(formats, *format) && !format[1];
  }

  Py_buffer view_ = {};
  bool held_ = false, usable_ = false;
};

PyObject *cvt_fp32_to_bf16(PyObject *, PyObject *args)
{
  PyObject *src_object, *out_object;
  if (!PyArg_ParseTuple(args, "OO:cvt_fp32_to_bf16", &src_object, &out_object))
    return nullptr;
  Buffer src(src_object, "src", "f", "float32", false);
  if (!src)
    return nullptr;
  Buffer out(out_object, "out", "Hh", "16-bit integers", true);
  if (!out)
    return nullptr;
  if (src.items() != out.items()) {
    PyErr_Format(PyExc_ValueError, "out must hold as many items as src (%zu), but holds %zu", src.items(), out.items());
    return nullptr;
  }
  Py_BEGIN_ALLOW_THREADS
  cvt_fp32_to_bf16_stub(static_cast<uint16_t *>(out.data()), static_cast<const float *>(src.data()), src.items());
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject *sum(PyObject *, PyObject *src_object)
{
  Buffer src(src_object, "src", "f", "float32", false);
  if (!src)
    return nullptr;
  float result;
  Py_BEGIN_ALLOW_THREADS
  result = sum_stub(static_cast<const float *>(src.data()), src.items());
  Py_END_ALLOW_THREADS
  return PyFloat_FromDouble(result);
}

PyObject *vector_size(PyObject *, PyObject *type_size)
{
  const long size = PyLong_AsLong(type_size);
  if (size < 1 || size > 16) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_ValueError, "type_size must be 1 to 16");
    return nullptr;
  }
  return PyLong_FromLong(vector_size_stub(static_cast<int>(size)));
}

PyObject *current_level(PyObject *, PyObject *)
{
  return PyUnicode_FromString(level_name_stub());
}

PyObject *highest_cpu_level(PyObject *, PyObject *)
{
  return PyUnicode_FromString(isa_level_name(isa_highest_cpu_level()));
}

PyObject *highest_binary_level(PyObject *, PyObject *)
{
  return PyUnicode_FromString(isa_level_name(isa_highest_binary_level()));
}

PyMethodDef methods[] = {
  {"cvt_fp32_to_bf16", cvt_fp32_to_bf16, METH_VARARGS, "cvt_fp32_to_bf16(src, out)"},
  {"sum", sum, METH_O, "sum(src)"},
  {"vector_size", vector_size, METH_O, "vector_size(type_size)"},
  {"current_level", current_level, METH_NOARGS, "The level whose copy of the kernels runs."},
  {"highest_cpu_level", highest_cpu_level, METH_NOARGS, "The best level that CPU and OS support."},
  {"highest_binary_level", highest_binary_level, METH_NOARGS, "The best level that is built."},
  {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
  PyModuleDef_HEAD_INIT, "_core", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit__core(void)
{
  PyObject *self = PyModule_Create(&module);
  if (self != nullptr && isa_add_to_module(self) < 0)
    Py_CLEAR(self);
  return self;
}
