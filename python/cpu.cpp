// The Python extension isagen._cpu: asks this CPU and OS with the very code that is part of every dispatch source.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)
#include "../isagen/processors/x86/machine.c"
#define HAS_CPUID 1
#else
#define HAS_CPUID 0
#endif

namespace {

#if HAS_CPUID

PyObject *cpuid(PyObject *, PyObject *args)
{
  unsigned leaf, subleaf;
  uint32_t r[4];
  if (!PyArg_ParseTuple(args, "II:cpuid", &leaf, &subleaf))
    return nullptr;
  isa_this_cpu.cpuid(leaf, subleaf, r);
  return Py_BuildValue("(IIII)", static_cast<unsigned>(r[0]), static_cast<unsigned>(r[1]),
                       static_cast<unsigned>(r[2]), static_cast<unsigned>(r[3]));
}

PyObject *xgetbv(PyObject *, PyObject *args)
{
  unsigned index;
  uint32_t r[4];
  if (!PyArg_ParseTuple(args, "I:xgetbv", &index))
    return nullptr;
  isa_this_cpu.cpuid(0, 0, r);
  if (r[0] >= 1)
    isa_this_cpu.cpuid(1, 0, r);
  else
    memset(r, 0, sizeof r);
  if (!(r[2] >> 27 & 1) || index != 0) {
    PyErr_SetString(PyExc_OSError, index ? "only XCR0 can be read" : "the OS has not enabled XGETBV");
    return nullptr;
  }
  return PyLong_FromUnsignedLongLong(isa_this_cpu.xgetbv(index));
}

PyObject *request_permission(PyObject *, PyObject *args)
{
  int component;
  if (!PyArg_ParseTuple(args, "i:request_permission", &component))
    return nullptr;
  if (component < 0 || component > 63) {
    PyErr_SetString(PyExc_ValueError, "XSAVE components are 0 to 63");
    return nullptr;
  }
  return PyBool_FromLong(isa_this_cpu.grant(component));
}

PyObject *is_enabled(PyObject *, PyObject *args)
{
  const char *name;
  if (!PyArg_ParseTuple(args, "s:is_enabled", &name))
    return nullptr;
  return PyBool_FromLong(isa_this_cpu.is_enabled(name));
}

#else

PyObject *refuse(PyObject *, PyObject *)
{
  PyErr_SetString(PyExc_OSError, "this is not an x86 CPU: it has no CPUID");
  return nullptr;
}
constexpr PyCFunction cpuid = refuse, xgetbv = refuse, request_permission = refuse, is_enabled = refuse;

#endif

PyMethodDef functions[] = {
    {"cpuid", cpuid, METH_VARARGS, "cpuid(leaf, subleaf, /) -> (eax, ebx, ecx, edx)"},
    {"xgetbv", xgetbv, METH_VARARGS, "xgetbv(index, /): XCR0, for index 0. OSError where the OS has not enabled it."},
    {"request_permission", request_permission, METH_VARARGS,
     "request_permission(component, /): ask Linux for an XSAVE component; whether this process may now use it."},
    {"is_enabled", is_enabled, METH_VARARGS, "is_enabled(name, /): whether a sysctl of macOS is 1; False elsewhere."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_cpu", "CPUID, XCR0 and permissions of the machine that this runs on.", 0, functions, nullptr,
    nullptr,               nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__cpu()
{
  PyObject *m = PyModule_Create(&module);
  if (m != nullptr && PyModule_AddObjectRef(m, "has_cpuid", HAS_CPUID ? Py_True : Py_False) < 0)
    Py_CLEAR(m);
  return m;
}
