# cython: language_level=3, boundscheck=False, wraparound=False
"""Weighted windows over float32 rows; weights are cached in the module."""

from ._shared cimport log

from libc.math cimport fabs

cdef extern from *:
    """
    #include "isa_dispatch.h"
    """
    const char *ISA_THIS_LEVEL

cdef extern from "level.h":
    const char *level_of_helper()

cdef dict tables = {}


cdef class Window:
    """Weights of a window, which the module keeps."""

    cdef readonly int width
    cdef float weights[64]

    def __init__(self, int width):
        if not 0 < width <= 64:
            raise ValueError("a window has 1 to 64 weights")
        self.width = width
        for i in range(width):
            self.weights[i] = 1 - fabs(2.0 * i - width + 1) / (width + 1)

    def __reduce__(self):
        return Window, (self.width,)


def window(int width):
    """Return the window of a width, the same object each time."""
    if width not in tables:
        tables[width] = Window(width)
        log.add(f"windows {width}")
    return tables[width]


def convolve(const float[::1] row, Window weights):
    """Return the weighted sums of a row as a list."""
    cdef Py_ssize_t i, k, count = row.shape[0] - weights.width + 1
    cdef float total
    result = []
    for i in range(count):
        total = 0
        for k in range(weights.width):
            total += row[i + k] * weights.weights[k]
        result.append(total)
    return result


def squares(const int[::1] row, int[::1] out):
    """Write the squares of a row into another: a loop that compilers vectorise."""
    cdef Py_ssize_t i
    if out.shape[0] != row.shape[0]:
        raise ValueError("rows differ in length")
    with nogil:
        for i in range(row.shape[0]):
            out[i] = row[i] * row[i]


def levels():
    """Return the levels that this source and the other one are compiled for."""
    return ISA_THIS_LEVEL.decode(), level_of_helper().decode()
