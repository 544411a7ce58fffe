# cython: language_level=3, boundscheck=False, wraparound=False
# distutils: language = c++
"""Counts of values, in C++."""

from ._shared cimport log

from libcpp.algorithm cimport sort
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

cdef extern from *:
    """
    #include "isa_dispatch.h"
    """
    const char *ISA_THIS_LEVEL

cdef unordered_map[int, long] totals


def count(const int[::1] row):
    """Return the counts so far, by value, in order."""
    cdef Py_ssize_t i
    cdef vector[int] known
    for i in range(row.shape[0]):
        totals[row[i]] += 1
    for pair in totals:
        known.push_back(pair.first)
    sort(known.begin(), known.end())
    log.add(f"counts {row.shape[0]}")
    return [(value, totals[value]) for value in known]


def level():
    """Return the level that this module is compiled for."""
    return ISA_THIS_LEVEL.decode()
