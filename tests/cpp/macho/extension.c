/* An extension module of Python. */
#include <Python.h>

static PyObject *add(PyObject *self, PyObject *arguments)
{
  long a, b;
  (void)self;
  if (!PyArg_ParseTuple(arguments, "ll", &a, &b))
    return NULL;
  return a < 0 ? PyErr_Format(PyExc_ValueError, "%ld is %s", a, "negative") : PyLong_FromLong(a + b);
}

static PyMethodDef methods[] = { { "add", add, METH_VARARGS, "" }, { NULL, NULL, 0, NULL } };
static struct PyModuleDef module = { PyModuleDef_HEAD_INIT, "extension", NULL, -1, methods, NULL, NULL, NULL, NULL };

PyMODINIT_FUNC PyInit_extension(void)
{
  return PyModule_Create(&module);
}
