// The Python extension isagen_kernels._core: buffers in, kernels called through their stubs, results out.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "buffer.h"
#include "isa_python.h"
#include "stubs.h"

ISA_DEFINE_DISPATCH(cvt_fp32_to_bf16_stub)
ISA_DEFINE_DISPATCH(sum_stub)
ISA_DEFINE_DISPATCH(vector_size_stub)
ISA_DEFINE_DISPATCH(level_name_stub)

extern PyMethodDef matmul_functions[];

namespace {

PyObject *cvt_fp32_to_bf16(PyObject *, PyObject *args)
{
  PyObject *src_object, *out_object;
  if (!PyArg_ParseTuple(args, "OO:cvt_fp32_to_bf16", &src_object, &out_object))
    return nullptr;
  Buffer src(src_object, "src", float32);
  if (!src)
    return nullptr;
  Buffer out(out_object, "out", bfloat16, Access::write);
  if (!out || !out.has_items(src.items(), "as many as src") || !out.is_apart_from(src, false))
    return nullptr;
  Py_BEGIN_ALLOW_THREADS
  cvt_fp32_to_bf16_stub(out.as<uint16_t>(), src.as<const float>(), src.items());
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}

PyObject *sum(PyObject *, PyObject *src_object)
{
  Buffer src(src_object, "src", float32);
  if (!src)
    return nullptr;
  float result;
  Py_BEGIN_ALLOW_THREADS
  result = sum_stub(src.as<const float>(), src.items());
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
  if (self != nullptr && (PyModule_AddFunctions(self, matmul_functions) < 0 || isa_add_to_module(self) < 0))
    Py_CLEAR(self);
  return self;
}
