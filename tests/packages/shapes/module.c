// The Python module over the libraries: said() returns what each calls.
#include <Python.h>

const char *first(void);
const char *second(void);
const char *inner(void);

static PyObject *said(PyObject *self, PyObject *unused)
{
    (void)self, (void)unused;
    return Py_BuildValue("[sss]", first(), second(), inner());
}

static PyMethodDef methods[] = {{"said", said, METH_NOARGS, "What each library calls."}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "shapes", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_shapes(void);
PyMODINIT_FUNC PyInit_shapes(void) { return PyModule_Create(&definition); }
