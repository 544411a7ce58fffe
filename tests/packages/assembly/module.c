/* The Python extension: all functions take an array of 32-bit integers, which scale changes. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "isa_python.h"
#include "kernels/stubs.h"

ISA_DEFINE_DISPATCH(sum_stub)
ISA_DEFINE_DISPATCH(scale_stub)
ISA_DEFINE_DISPATCH(count_stub)
ISA_DEFINE_DISPATCH(bits_stub)

static PyObject *sum(PyObject *self, PyObject *args)
{
  Py_buffer values;
  uint32_t found;
  (void)self;
  if (!PyArg_ParseTuple(args, "y*", &values))
    return NULL;
  found = sum_stub(values.buf, (size_t)values.len / 4);
  PyBuffer_Release(&values);
  return PyLong_FromUnsignedLong(found);
}

static PyObject *scale(PyObject *self, PyObject *args)
{
  Py_buffer values;
  unsigned factor;
  (void)self;
  if (!PyArg_ParseTuple(args, "w*I", &values, &factor))
    return NULL;
  scale_stub(values.buf, (size_t)values.len / 4, factor);
  PyBuffer_Release(&values);
  Py_RETURN_NONE;
}

static PyObject *count(PyObject *self, PyObject *args)
{
  Py_buffer values;
  unsigned value;
  size_t found;
  (void)self;
  if (!PyArg_ParseTuple(args, "y*I", &values, &value))
    return NULL;
  found = count_stub(values.buf, (size_t)values.len / 4, value);
  PyBuffer_Release(&values);
  return PyLong_FromSize_t(found);
}

static PyObject *bits(PyObject *self, PyObject *unused)
{
  (void)self;
  (void)unused;
  return PyLong_FromLong(bits_stub());
}

static PyMethodDef methods[] = {
  {"sum", sum, METH_VARARGS, "sum(values), modulo 2 ** 32"},
  {"scale", scale, METH_VARARGS, "scale(values, factor): values *= factor"},
  {"count", count, METH_VARARGS, "count(values, value)"},
  {"bits", bits, METH_NOARGS, "the bits of a vector of the level"},
  {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "assembly_kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_assembly_kernels(void)
{
  PyObject *module = PyModule_Create(&definition);
  if (module != NULL && isa_add_to_module(module) < 0)
    Py_CLEAR(module);
  return module;
}
