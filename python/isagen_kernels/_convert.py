"""Conversions between float32 and the 16-bit floats. The result has the shape of `src`."""

from __future__ import annotations

from . import _core
from ._dtypes import Array


def cvt_fp32_to_bf16(src: Array, out: Array = None, *, threads: int | None = None) -> Array:
    """Convert float32 to bfloat16, rounded to nearest even.

    Denormals are rounded, not flushed. A NaN becomes quiet, and keeps its sign and the top of its payload. Every level
    gives the same bits. For a PyTorch tensor, a new result is a tensor of bfloat16. Otherwise it contains the bits as
    uint16, and `.view(ml_dtypes.bfloat16)` makes numbers of them. `out` may contain bfloat16 or 16-bit integers.
    """
    return _core.cvt_fp32_to_bf16(src, out, threads)


def cvt_bf16_to_fp32(src: Array, out: Array = None, *, threads: int | None = None) -> Array:
    """Convert bfloat16, or 16-bit integers with its bits, to float32. The result is exact; a NaN keeps its bits."""
    return _core.cvt_bf16_to_fp32(src, out, threads)


def cvt_fp32_to_fp16(src: Array, out: Array = None, *, threads: int | None = None) -> Array:
    """Convert float32 to IEEE binary16, rounded to nearest even, denormals too. Numbers that are too large become inf.

    A NaN becomes quiet, and keeps its sign and the top of its payload. Every level gives the same bits. A new NumPy
    array or tensor is of float16, a new memoryview of uint16: memoryviews of older Pythons cannot read float16. `out`
    may contain float16 or 16-bit integers.
    """
    return _core.cvt_fp32_to_fp16(src, out, threads)


def cvt_fp16_to_fp32(src: Array, out: Array = None, *, threads: int | None = None) -> Array:
    """Convert IEEE binary16, as float16 or as 16-bit integers with its bits, to float32. A NaN becomes quiet."""
    return _core.cvt_fp16_to_fp32(src, out, threads)
