// The extension: run() calls every kernel.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "folds.h"
#include "isa_python.h"

#define EACH(X) \
  X(plain) X(alike_1) X(alike_2) X(shared_variable) X(counts) X(starts) X(names) X(calls) X(called) X(unlike_1) \
  X(unlike_2) X(in_a_set)
#define DEFINE(stub) ISA_DEFINE_DISPATCH(stub)
EACH(DEFINE)

extern "C" const int __start_folds_set[], __stop_folds_set[];

static PyObject *run(PyObject *, PyObject *)
{
  float data[100];
  for (int i = 0; i < 100; i++)
    data[i] = static_cast<float>(i);
  PyObject *found = PyDict_New();
#define CALL(stub) \
  if (found != nullptr) { \
    PyObject *number = PyFloat_FromDouble(stub(data, 100)); \
    if (number == nullptr || PyDict_SetItemString(found, #stub, number) < 0) \
      Py_CLEAR(found); \
    Py_XDECREF(number); \
  }
  EACH(CALL)
  return found;
}

static PyObject *elements(PyObject *, PyObject *)
{
  return PyLong_FromSsize_t(__stop_folds_set - __start_folds_set);
}

static PyMethodDef methods[] = {
  {"run", run, METH_NOARGS, "run(): what each kernel returns for 100 numbers."},
  {"elements", elements, METH_NOARGS, "elements(): how many elements the set has."},
  {nullptr, nullptr, 0, nullptr},
};

static PyModuleDef module = {
  PyModuleDef_HEAD_INIT, "folds", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

PyMODINIT_FUNC PyInit_folds(void)
{
  PyObject *self = PyModule_Create(&module);
  if (self != nullptr && isa_add_to_module(self) < 0)
    Py_CLEAR(self);
  return self;
}
