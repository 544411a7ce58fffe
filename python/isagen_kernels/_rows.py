"""Prefix sums, reductions and softmax, called as in NumPy; `help(isagen_kernels)` describes their common arguments."""

from __future__ import annotations

from typing import Any

from . import _core
from ._dtypes import Array, numpy_name_of

Axes = int | tuple[int, ...] | None


def _name(dtype: Any) -> str | None:
    return None if dtype is None else numpy_name_of(dtype)


def cumsum(
    src: Array, axis: int | None = None, *, dtype: Any = None, out: Array = None, threads: int | None = None
) -> Array:
    """Return the prefix sums along an axis, or, if `axis` is None, of all items in C order.

    `src` is of float32, float64 or int32, and so is the result: int32 wraps, where numpy.cumsum returns int64. With
    `dtype`, which is float32, float64 or, for integers, int32, `src` may also be of int8 or uint8, and is converted
    first. The result has the shape of `src`, or one axis if `axis` is None. `out` may be `src`.

    A float sum is rounded once for each earlier vector, and log2(lanes) times within its vector. The error is at most
    the number of these roundings times the unit roundoff times the sum of magnitudes. With several threads, the last
    bits may differ.
    """
    return _core.cumsum(src, axis, _name(dtype), out, threads)


def softmax(
    src: Array, axis: int | None = -1, *, dtype: Any = None, out: Array = None, threads: int | None = None
) -> Array:
    """Return exp(x - m) / sum(exp(x - m)) along an axis, or, if `axis` is None, of all items. m is the maximum.

    `src` is of float32 or float64, and the result has its dtype and shape. With `dtype`, float32 or float64, `src` may
    also be of int32, int8 or uint8, and is converted first. As in PyTorch, the result is NaN for a row with a NaN or
    +inf, and for a row of only -inf. `out` may be `src`.
    """
    return _core.softmax(src, axis, _name(dtype), out, threads)


def log_softmax(
    src: Array, axis: int | None = -1, *, dtype: Any = None, out: Array = None, threads: int | None = None
) -> Array:
    """Return x - m - log(sum(exp(x - m))) along an axis, or, if `axis` is None, of all items. m is the maximum.

    `src` is of float32 or float64, and the result has its dtype and shape. With `dtype`, float32 or float64, `src` may
    also be of int32, int8 or uint8, and is converted first. As in PyTorch, the result is NaN for a row with a NaN or
    +inf, and for a row of only -inf. `out` may be `src`.
    """
    return _core.log_softmax(src, axis, _name(dtype), out, threads)


def sum(
    src: Array,
    axis: Axes = None,
    *,
    dtype: Any = None,
    out: Array = None,
    keepdims: bool = False,
    threads: int | None = None,
) -> Array:
    """Return the sum along one or several axes, or, by default, of all items; 0 if there are none.

    `src` is of float32 or float64, and the result has its dtype; for int32, the result is an exact int64. With `dtype`,
    which is float32, float64 or, for integers, int64, `src` may also be of int8 or uint8, and is converted first.

    The items of a float row are added in pieces of a few hundred vectors; along an axis before the last, a piece is
    eight items. The sums of pieces are added in float64. The error is at most 80 times the unit roundoff times the sum
    of magnitudes; for float64, each piece adds one to the 80. The order of additions, and so the last bits, depend on
    the level and the axis, but not on the number of threads.
    """
    return _core.sum(src, axis, _name(dtype), out, keepdims, threads)


def mean(
    src: Array,
    axis: Axes = None,
    *,
    dtype: Any = None,
    out: Array = None,
    keepdims: bool = False,
    threads: int | None = None,
) -> Array:
    """Return the mean along one or several axes, or, by default, of all items; NaN if there are none.

    The mean is the result of `sum`, divided in float64. `src` is of float32 or float64, and the result has its dtype.
    With `dtype`, float32 or float64, `src` may also be of int32, int8 or uint8, and is converted first.
    """
    return _core.mean(src, axis, _name(dtype), out, keepdims, threads)


def max(
    src: Array, axis: Axes = None, *, out: Array = None, keepdims: bool = False, threads: int | None = None
) -> Array:
    """Return the largest item along one or several axes, or, by default, of all items; NaN if one of them is NaN.

    `src` is of float32, float64, int32, int8 or uint8, and the result has its dtype. Raises ValueError if there are no
    items.
    """
    return _core.max(src, axis, None, out, keepdims, threads)


def min(
    src: Array, axis: Axes = None, *, out: Array = None, keepdims: bool = False, threads: int | None = None
) -> Array:
    """Return the smallest item along one or several axes, or, by default, of all items; NaN if one of them is NaN.

    `src` is of float32, float64, int32, int8 or uint8, and the result has its dtype. Raises ValueError if there are no
    items.
    """
    return _core.min(src, axis, None, out, keepdims, threads)


def logsumexp(
    src: Array,
    axis: Axes = None,
    *,
    dtype: Any = None,
    out: Array = None,
    keepdims: bool = False,
    threads: int | None = None,
) -> Array:
    """Return log(sum(exp(x))) along one or several axes, or, by default, of all items. The sum does not overflow.

    `src` is of float32 or float64, and the result has its dtype. With `dtype`, float32 or float64, `src` may also be of
    int32, int8 or uint8, and is converted first. The result is NaN if an item is NaN, else +inf if one is +inf; it is
    -inf if there are no items.
    """
    return _core.logsumexp(src, axis, _name(dtype), out, keepdims, threads)
