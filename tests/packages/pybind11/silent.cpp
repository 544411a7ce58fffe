// A module that does not call isa_add_to_module.
#include <pybind11/pybind11.h>

#include "level.h"

ISA_DEFINE_DISPATCH(level_stub)

PYBIND11_MODULE(silent, m)
{
  m.def("level", [] { return level_stub(); });
}
