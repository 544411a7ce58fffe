/* The Python extension: checks its arguments, and calls the stubs. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "isa_python.h"
#include "kernels/stubs.h"

ISA_DEFINE_DISPATCH(axpy_stub)
ISA_DEFINE_DISPATCH(text_stub)
ISA_DEFINE_DISPATCH(dot_stub)
ISA_DEFINE_DISPATCH(bits_stub)
ISA_DEFINE_DISPATCH(level_calls_stub)
ISA_DEFINE_DISPATCH(total_stub)

/* The COMMON block of total.f, which Fortran defines. */
extern int counts_;

static PyObject *axpy(PyObject *self, PyObject *args)
{
  float a;
  Py_buffer x, y;
  (void)self;
  if (!PyArg_ParseTuple(args, "fy*w*", &a, &x, &y))
    return NULL;
  if (x.len == y.len)
    axpy_stub((size_t)x.len / sizeof(float), a, x.buf, y.buf);
  else
    PyErr_SetString(PyExc_ValueError, "x and y differ in length");
  PyBuffer_Release(&x);
  PyBuffer_Release(&y);
  if (PyErr_Occurred())
    return NULL;
  Py_RETURN_NONE;
}

static PyObject *dot(PyObject *self, PyObject *args)
{
  Py_buffer x, y;
  double result = 0;
  (void)self;
  if (!PyArg_ParseTuple(args, "y*y*", &x, &y))
    return NULL;
  if (x.len == y.len)
    result = dot_stub((size_t)x.len / sizeof(float), x.buf, y.buf);
  else
    PyErr_SetString(PyExc_ValueError, "x and y differ in length");
  PyBuffer_Release(&x);
  PyBuffer_Release(&y);
  return PyErr_Occurred() ? NULL : PyFloat_FromDouble(result);
}

static PyObject *total(PyObject *self, PyObject *args)
{
  Py_buffer x;
  float sum;
  (void)self;
  if (!PyArg_ParseTuple(args, "y*", &x))
    return NULL;
  total_stub((int)((size_t)x.len / sizeof(float)), x.buf, &sum);
  PyBuffer_Release(&x);
  return PyFloat_FromDouble((double)sum);
}

static PyObject *text(PyObject *self, PyObject *unused)
{
  char found[64];
  (void)self;
  (void)unused;
  text_stub(found, sizeof found);
  return PyUnicode_FromString(found);
}

static PyObject *counted(PyObject *self, PyObject *unused)
{
  (void)self;
  (void)unused;
  return Py_BuildValue("iii", bits_stub(), level_calls_stub(), counts_);
}

static PyMethodDef methods[] = {
  {"axpy", axpy, METH_VARARGS, "axpy(a, x, y): y += a * x"},
  {"dot", dot, METH_VARARGS, "dot(x, y), in double precision"},
  {"total", total, METH_VARARGS, "the sum of x"},
  {"text", text, METH_NOARGS, "a text that Fortran concatenates"},
  {"counted", counted, METH_NOARGS, "the bits of a vector, the calls of this level's axpy and dot, the calls of total"},
  {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "fortran_kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_fortran_kernels(void)
{
  PyObject *module = PyModule_Create(&definition);
  if (module != NULL && isa_add_to_module(module) < 0)
    Py_CLEAR(module);
  return module;
}
