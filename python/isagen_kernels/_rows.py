"""Prefix sums, reductions and softmax, with the conventions of NumPy: `help(isagen_kernels)` has what they share."""

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
    """Return the prefix sums along an axis, or by default of all items in C order, with one axis.

    `src` holds float32, float64 or int32, and the result has its dtype: int32 wraps, where numpy.cumsum gives int64.
    With `dtype`, float32, float64 or int32 (of integers), `src` may hold int8 and uint8 too, and is converted first.
    The result has the shape of `src`, but one axis if `axis` is None. `out` may be `src`.

    A float sum has one rounding per earlier vector, and log2 of a vector's lanes more. The error is at most this number
    times the unit roundoff times the sum of magnitudes. Several threads may change its last bits.
    """
    return _core.cumsum(src, axis, _name(dtype), out, threads)


def softmax(
    src: Array, axis: int | None = -1, *, dtype: Any = None, out: Array = None, threads: int | None = None
) -> Array:
    """Return exp(x - m) / sum(exp(x - m)), m the maximum, along an axis, by default the last; None: of all items.

    `src` holds float32 or float64, and the result has its dtype and shape. With `dtype`, float32 or float64, `src` may
    hold int32, int8 and uint8 too, and is converted first. A row with a NaN or +inf, and one of nothing but -inf, is
    NaN, as in PyTorch. `out` may be `src`.
    """
    return _core.softmax(src, axis, _name(dtype), out, threads)


def log_softmax(
    src: Array, axis: int | None = -1, *, dtype: Any = None, out: Array = None, threads: int | None = None
) -> Array:
    """Return x - m - log(sum(exp(x - m))), m the maximum, along an axis, by default the last; None: of all items.

    `src` holds float32 or float64, and the result has its dtype and shape. With `dtype`, float32 or float64, `src` may
    hold int32, int8 and uint8 too, and is converted first. A row with a NaN or +inf, and one of nothing but -inf, is
    NaN, as in PyTorch. `out` may be `src`.
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
    """Return the sum along an axis, or several, or by default of all items; 0 without items.

    `src` holds float32 or float64, and the result has its dtype; or int32, with an exact int64. With `dtype`, float32,
    float64 or int64 (of integers), `src` may hold int8 and uint8 too, and is converted first.

    A float row is added in pieces of a few hundred vectors, and the pieces in float64. The error is at most 80 times
    the unit roundoff times the sum of magnitudes; for float64 each piece adds one to the 80. Along an axis before the
    last, a piece is eight items. The order of additions, and so the last bits, depend on the level and the axis, but
    not on the number of threads.
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
    """Return the mean along an axis, or several, or by default of all items; NaN without items.

    It is the sum, as `sum` adds it, divided in float64. `src` holds float32 or float64, and the result has its dtype.
    With `dtype`, float32 or float64, `src` may hold int32, int8 and uint8 too, and is converted first.
    """
    return _core.mean(src, axis, _name(dtype), out, keepdims, threads)


def max(
    src: Array, axis: Axes = None, *, out: Array = None, keepdims: bool = False, threads: int | None = None
) -> Array:
    """Return the largest item along an axis, or several, or by default of all; NaN if there is one.

    `src` holds float32, float64, int32, int8 or uint8, and the result has its dtype. Raises ValueError for the largest
    of no items.
    """
    return _core.max(src, axis, None, out, keepdims, threads)


def min(
    src: Array, axis: Axes = None, *, out: Array = None, keepdims: bool = False, threads: int | None = None
) -> Array:
    """Return the smallest item along an axis, or several, or by default of all; NaN if there is one.

    `src` holds float32, float64, int32, int8 or uint8, and the result has its dtype. Raises ValueError for the smallest
    of no items.
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
    """Return log(sum(exp(x))) along an axis, or several, or by default of all items; no overflow.

    `src` holds float32 or float64, and the result has its dtype. With `dtype`, float32 or float64, `src` may hold
    int32, int8 and uint8 too, and is converted first. The result is -inf without items; a NaN makes it NaN, else +inf
    makes it +inf.
    """
    return _core.logsumexp(src, axis, _name(dtype), out, keepdims, threads)
