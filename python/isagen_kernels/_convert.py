"""Conversions between float32 and the 16-bit floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core
from ._arrays import new, view_of


def _convert(kernel: Callable[..., None], src: Any, out: Any, threads: int | None, code: str, dtype: str = "") -> Any:
    if out is None:
        out = new(src, view_of(src, "src").shape, code, dtype)
    kernel(src, out, threads)
    return out


def cvt_fp32_to_bf16(src: Any, out: Any = None, *, threads: int | None = None) -> Any:
    """Convert float32 to bfloat16, rounded to nearest even, as 16-bit integers that are its bits.

    Denormals are rounded, not flushed; NaN stays NaN, becomes quiet, and keeps its sign and the top of its payload.
    Every level gives the same bits. A new result holds uint16.
    """
    return _convert(_core.cvt_fp32_to_bf16, src, out, threads, "H")


def cvt_bf16_to_fp32(src: Any, out: Any = None, *, threads: int | None = None) -> Any:
    """Convert bfloat16, given as 16-bit integers that are its bits, to float32; exact, NaN keeps its bits."""
    return _convert(_core.cvt_bf16_to_fp32, src, out, threads, "f")


def cvt_fp32_to_fp16(src: Any, out: Any = None, *, threads: int | None = None) -> Any:
    """Convert float32 to IEEE binary16, rounded to nearest even, denormals too; what is too large becomes inf.

    NaN stays NaN, becomes quiet, and keeps its sign and the top of its payload. Every level gives the same bits. A new
    result holds float16 if it is a NumPy array, else uint16: memoryviews of older Pythons cannot read float16. `out`
    may hold either.
    """
    return _convert(_core.cvt_fp32_to_fp16, src, out, threads, "H", "float16")


def cvt_fp16_to_fp32(src: Any, out: Any = None, *, threads: int | None = None) -> Any:
    """Convert IEEE binary16, as float16 or as 16-bit integers that are its bits, to float32; a NaN becomes quiet."""
    return _convert(_core.cvt_fp16_to_fp32, src, out, threads, "f")
