/* A module that is initialised in one phase: its initialisation returns the module itself. */
#include <Python.h>

#include "isa_dispatch.h"

static int calls; /* the state of a process */

static PyObject *scaled(PyObject *self, PyObject *argument)
{
  int row[64], total = 0, i;
  const int factor = (int)PyLong_AsLong(argument);
  (void)self;
  calls++;
  for (i = 0; i < 64; i++)
    row[i] = i * factor;
  for (i = 0; i < 64; i++)
    total += row[i];
  return PyLong_FromLong(total);
}

static PyObject *told(PyObject *self, PyObject *unused)
{
  (void)self, (void)unused;
  return Py_BuildValue("(si)", ISA_THIS_LEVEL, calls);
}

static PyMethodDef methods[] = {
  {"scaled", scaled, METH_O, "The sum of 64 numbers."},
  {"told", told, METH_NOARGS, "The level that this is compiled for, and the calls so far."},
  {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "single", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_single(void)
{
  return PyModule_Create(&definition);
}
