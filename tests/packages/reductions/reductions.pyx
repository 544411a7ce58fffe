# cython: language_level=3, boundscheck=False, wraparound=False
"""Mean, variance, skewness and kurtosis of one-dimensional arrays, with the meaning that they have in pandas.

NaNs are left out; with ``skipna=False``, one makes the result NaN. Too few values give NaN. Sums are of float64 for
float32 too, and the result is rounded to the type of the array.
"""

import sys

ctypedef fused real:
    float
    double

cdef extern from "stubs.h":
    double mean_float_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna) noexcept nogil
    double mean_double_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna) noexcept nogil
    double variance_float_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna, ptrdiff_t ddof) noexcept nogil
    double variance_double_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna, ptrdiff_t ddof) noexcept nogil
    double skew_float_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna) noexcept nogil
    double skew_double_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna) noexcept nogil
    double kurtosis_float_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna) noexcept nogil
    double kurtosis_double_stub(const void *first, size_t count, ptrdiff_t stride, bint skipna) noexcept nogil

cdef extern from "isa_python.h":
    int isa_add_to_module(object module) except -1

isa_add_to_module(sys.modules[__name__])


def mean(const real[:] array, bint skipna=True):
    """Return the mean."""
    cdef const void *first = &array[0] if array.shape[0] else NULL
    cdef size_t count = array.shape[0]
    cdef real result
    with nogil:
        if real is float:
            result = <real>mean_float_stub(first, count, array.strides[0], skipna)
        else:
            result = mean_double_stub(first, count, array.strides[0], skipna)
    return result


def var(const real[:] array, bint skipna=True, Py_ssize_t ddof=1):
    """Return the variance: the sum of squares over the number of values less `ddof`."""
    cdef const void *first = &array[0] if array.shape[0] else NULL
    cdef size_t count = array.shape[0]
    cdef real result
    with nogil:
        if real is float:
            result = <real>variance_float_stub(first, count, array.strides[0], skipna, ddof)
        else:
            result = variance_double_stub(first, count, array.strides[0], skipna, ddof)
    return result


def skew(const real[:] array, bint skipna=True):
    """Return the skewness, corrected for bias; 0 for equal values."""
    cdef const void *first = &array[0] if array.shape[0] else NULL
    cdef size_t count = array.shape[0]
    cdef real result
    with nogil:
        if real is float:
            result = <real>skew_float_stub(first, count, array.strides[0], skipna)
        else:
            result = skew_double_stub(first, count, array.strides[0], skipna)
    return result


def kurt(const real[:] array, bint skipna=True):
    """Return the excess kurtosis, corrected for bias; 0 for equal values."""
    cdef const void *first = &array[0] if array.shape[0] else NULL
    cdef size_t count = array.shape[0]
    cdef real result
    with nogil:
        if real is float:
            result = <real>kurtosis_float_stub(first, count, array.strides[0], skipna)
        else:
            result = kurtosis_double_stub(first, count, array.strides[0], skipna)
    return result
