"""Prefix sums, reductions and softmax: over the last axis, or over all items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._arrays import new, number_format_of, view_of


def _check_axis(axis: int, axes: int) -> None:
    last = axes - 1 if axes > 0 else 0
    if axis not in (-1, last):
        raise ValueError(f"axis must be the last one, -1 or {last}, not {axis!r}")


def _like(src: Any, axis: int, out: Any) -> Any:
    """Return `out`, or a new array like `src`; checks `axis`."""
    if out is not None and axis == -1:
        return out
    view = view_of(src, "src")
    _check_axis(axis, view.ndim)
    return new(src, view.shape, number_format_of(view)) if out is None else out


def cumsum(src: Any, axis: int = -1, *, out: Any = None, threads: int | None = None) -> Any:
    """Return the prefix sums along the last axis, of the dtype of `src`: float32, float64 or int32.

    int32 wraps. A float sum has one rounding per earlier vector, and log2 of a vector's lanes more. The error is at
    most this number times the unit roundoff times the sum of magnitudes. Several threads may change its last bits.
    `out` may be `src`.
    """
    out = _like(src, axis, out)
    _core.cumsum(src, out, threads)
    return out


def _softmax(src: Any, axis: int, out: Any, logarithm: bool, threads: int | None) -> Any:
    out = _like(src, axis, out)
    _core.softmax(src, out, logarithm, threads)
    return out


def softmax(src: Any, axis: int = -1, *, out: Any = None, threads: int | None = None) -> Any:
    """Return exp(x - m) / sum(exp(x - m)) along the last axis, m the row's maximum; float32 or float64, as `src`.

    A row with a NaN or +inf, and one of nothing but -inf, is NaN, as in PyTorch. `out` may be `src`.
    """
    return _softmax(src, axis, out, False, threads)


def log_softmax(src: Any, axis: int = -1, *, out: Any = None, threads: int | None = None) -> Any:
    """Return x - m - log(sum(exp(x - m))) along the last axis; float32 or float64, as `src`.

    A row with a NaN or +inf, and one of nothing but -inf, is NaN, as in PyTorch. `out` may be `src`.
    """
    return _softmax(src, axis, out, True, threads)


def _reduce(
    kernel: Callable[..., None], src: Any, axis: int | None, out: Any, threads: int | None, sums: bool = False
) -> Any:
    view = view_of(src, "src")
    if axis is not None:
        _check_axis(axis, view.ndim)
    whole = axis is None or view.ndim < 2
    code = number_format_of(view)
    if code == "i" and sums:
        code = "q"
    if out is None and whole:
        single = new(None, (1,), code)
        kernel(src, single, True, threads)
        return single[0]
    if out is None:
        out = new(src, view.shape[:-1], code)
    kernel(src, out, whole, threads)
    return out


def sum(src: Any, axis: int | None = None, *, out: Any = None, threads: int | None = None) -> Any:
    """Return the sum of all items, or along the last axis.

    float32 and float64 give the same dtype, int32 an exact int64. A float row is added in pieces of a few hundred
    vectors, and the pieces in float64. The error is at most 80 times the unit roundoff times the sum of magnitudes; for
    float64 each piece adds one to the 80. The order of additions, and so the last bits, depend on the level, but not on
    the number of threads.
    """
    return _reduce(_core.sum, src, axis, out, threads, sums=True)


def mean(src: Any, axis: int | None = None, *, out: Any = None, threads: int | None = None) -> Any:
    """Return the mean of all items, or along the last axis: the sum as above, divided in float64; NaN without items.

    `src` is float32 or float64.
    """
    return _reduce(_core.mean, src, axis, out, threads)


def max(src: Any, axis: int | None = None, *, out: Any = None, threads: int | None = None) -> Any:
    """Return the largest item of all, or along the last axis; NaN if there is one. Raises ValueError without items.

    `src` is float32, float64, int32, int8 or uint8.
    """
    return _reduce(_core.max, src, axis, out, threads)


def min(src: Any, axis: int | None = None, *, out: Any = None, threads: int | None = None) -> Any:
    """Return the smallest item of all, or along the last axis; NaN if there is one. Raises ValueError without items.

    `src` is float32, float64, int32, int8 or uint8.
    """
    return _reduce(_core.min, src, axis, out, threads)


def logsumexp(src: Any, axis: int | None = None, *, out: Any = None, threads: int | None = None) -> Any:
    """Return log(sum(exp(x))), without overflow, of all items or along the last axis; -inf without items.

    `src` is float32 or float64. A NaN makes the result NaN, else +inf makes it +inf.
    """
    return _reduce(_core.logsumexp, src, axis, out, threads)
