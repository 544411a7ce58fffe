/* A module that is initialised in several phases, with state that it finds by the address of its definition. */
#include <Python.h>

#include "isa_dispatch.h"

struct state
{
  int calls;
};

static struct PyModuleDef definition;

static PyObject *counter_next(PyObject *self, PyObject *unused)
{
  PyObject *module = PyType_GetModuleByDef(Py_TYPE(self), &definition);
  (void)unused;
  if (module == NULL)
    return NULL;
  return PyLong_FromLong(++((struct state *)PyModule_GetState(module))->calls);
}

static PyMethodDef counter_methods[] = {
  {"next", counter_next, METH_NOARGS, "The calls so far, of all counters."},
  {NULL, NULL, 0, NULL},
};

static PyType_Slot counter_slots[] = {{Py_tp_methods, counter_methods}, {0, NULL}};
static PyType_Spec counter = {"phased.Counter", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, counter_slots};

static PyObject *level(PyObject *self, PyObject *unused)
{
  (void)self, (void)unused;
  return PyUnicode_FromString(ISA_THIS_LEVEL);
}

static PyMethodDef methods[] = {
  {"level", level, METH_NOARGS, "The level that this is compiled for."},
  {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
  PyObject *type = PyType_FromModuleAndSpec(module, &counter, NULL);
  const int status = type == NULL ? -1 : PyModule_AddObjectRef(module, "Counter", type);
  Py_XDECREF(type);
  return status;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
  PyModuleDef_HEAD_INIT, "phased", NULL, sizeof(struct state), methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_phased(void)
{
  return PyModuleDef_Init(&definition);
}
