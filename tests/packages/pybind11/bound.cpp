// A pybind11 module over a kernel that is compiled once per CPU level.
#include <pybind11/pybind11.h>

#include "isa_python.h"
#include "level.h"

ISA_DEFINE_DISPATCH(level_stub)

PYBIND11_MODULE(bound, m)
{
  if (isa_add_to_module(m.ptr()) < 0)
    throw pybind11::error_already_set();
  m.def("level", [] { return level_stub(); }, "The CPU level whose copy of the kernel runs.");
}
