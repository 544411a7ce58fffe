# cython: language_level=3
"""A Cython module over a kernel that is compiled once per CPU level."""

import sys


cdef extern from "level.h":
    const char *level_stub()

cdef extern from "isa_python.h":
    int isa_add_to_module(object module) except -1


def level():
    """Return the CPU level whose copy of the kernel runs."""
    return level_stub().decode()


isa_add_to_module(sys.modules[__name__])
