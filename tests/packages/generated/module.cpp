// The Python extension: scale and clip change an array of floats or doubles, array.array("f") or ("d"), in place.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstring>

#include "isa_python.h"
#include "kernels/stubs.h"

ISA_DEFINE_DISPATCH(scale_float_stub)
ISA_DEFINE_DISPATCH(scale_double_stub)
ISA_DEFINE_DISPATCH(clip_float_stub)
ISA_DEFINE_DISPATCH(clip_double_stub)
ISA_DEFINE_DISPATCH(bias_stub)
ISA_DEFINE_DISPATCH(bits_stub)
ISA_DEFINE_DISPATCH(offset_stub)

namespace {

// Calls one of two functions with the items of an array; returns None, or null with an exception.
template<typename Floats, typename Doubles>
PyObject *in_place(PyObject *array, Floats floats, Doubles doubles)
{
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE | PyBUF_FORMAT) < 0)
    return nullptr;
  const std::size_t count = static_cast<std::size_t>(view.len / view.itemsize);
  if (std::strcmp(view.format, "f") == 0)
    floats(static_cast<float *>(view.buf), count);
  else if (std::strcmp(view.format, "d") == 0)
    doubles(static_cast<double *>(view.buf), count);
  else
    PyErr_SetString(PyExc_TypeError, "an array of floats or doubles is needed");
  PyBuffer_Release(&view);
  return PyErr_Occurred() != nullptr ? nullptr : Py_NewRef(Py_None);
}

PyObject *scale(PyObject *, PyObject *args)
{
  PyObject *array;
  double factor;
  if (!PyArg_ParseTuple(args, "Od", &array, &factor))
    return nullptr;
  return in_place(array,
    [=](float *values, std::size_t count) { scale_float_stub(values, count, factor); },
    [=](double *values, std::size_t count) { scale_double_stub(values, count, factor); });
}

PyObject *clip(PyObject *, PyObject *args)
{
  PyObject *array;
  double low, high;
  if (!PyArg_ParseTuple(args, "Odd", &array, &low, &high))
    return nullptr;
  return in_place(array,
    [=](float *values, std::size_t count) { clip_float_stub(values, count, low, high); },
    [=](double *values, std::size_t count) { clip_double_stub(values, count, low, high); });
}

PyObject *numbers(PyObject *, PyObject *args)
{
  int x;
  if (!PyArg_ParseTuple(args, "i", &x))
    return nullptr;
  return Py_BuildValue("iii", bits_stub(), bias_stub(), offset_stub(x));
}

PyMethodDef methods[] = {
  {"scale", scale, METH_VARARGS, "scale(array, factor)"},
  {"clip", clip, METH_VARARGS, "clip(array, low, high)"},
  {"numbers", numbers, METH_VARARGS, "the bits of a vector, the configured bias, and 3 + 2 x + x * x"},
  {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
  PyModuleDef_HEAD_INIT, "generated_kernels", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit_generated_kernels(void)
{
  PyObject *module = PyModule_Create(&definition);
  if (module != nullptr && isa_add_to_module(module) < 0)
    Py_CLEAR(module);
  return module;
}
