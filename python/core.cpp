// The Python extension isagen_kernels._core: the module, and its functions about levels.
#include "call.h"
#include "isa_python.h"
#include "parallel.h"
#include "stubs/level.h"

ISA_DEFINE_DISPATCH(vector_size_stub)
ISA_DEFINE_DISPATCH(level_name_stub)

namespace {

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

PyObject *set_last_cache(PyObject *, PyObject *bytes)
{
  const size_t size = PyLong_AsSize_t(bytes);
  if (PyErr_Occurred())
    return nullptr;
  last_cache = size;
  Py_RETURN_NONE;
}

PyObject *default_threads(PyObject *, PyObject *)
{
  return PyLong_FromLong(::default_threads());
}

PyMethodDef level_functions[] = {
    {"set_last_cache", set_last_cache, METH_O,
     "set_last_cache(bytes): larger arrays are written past the caches; 0: the machine's cache. For tests."},
    {"default_threads", default_threads, METH_NOARGS, "The default limit of threads in a call."},
    {"vector_size", vector_size, METH_O, "vector_size(type_size)"},
    {"current_level", current_level, METH_NOARGS, "The level whose copy of the kernels runs."},
    {"highest_cpu_level", highest_cpu_level, METH_NOARGS, "The best level that CPU and OS support."},
    {"highest_binary_level", highest_binary_level, METH_NOARGS, "The best level that is built."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_core", nullptr, -1, level_functions, nullptr, nullptr, nullptr, nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit__core(void)
{
  PyObject *self = PyModule_Create(&module);
  PyMethodDef *const tables[] = {channels_functions, convert_functions, matmul_functions,
                                 reduce_functions,   scan_functions,    softmax_functions};
  for (PyMethodDef *functions : tables)
    if (self != nullptr && PyModule_AddFunctions(self, functions) < 0)
      Py_CLEAR(self);
  if (self != nullptr && isa_add_to_module(self) < 0)
    Py_CLEAR(self);
  return self;
}
