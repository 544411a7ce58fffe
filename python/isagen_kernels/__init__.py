"""isagen's reference kernels: what a project built with isagen looks like from Python.

Arrays are any objects with the buffer protocol: NumPy arrays, ``array.array``, memoryviews, ctypes arrays.
"""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._matmul import matmul_bf16, matmul_fp16, matmul_u8s8

isa = _core.isa
"""The CPU levels of these kernels: ``help(isagen_kernels.isa)``."""

__all__ = [
    "cvt_fp32_to_bf16",
    "get_cpp_typesize_and_vecsize",
    "isa",
    "matmul_bf16",
    "matmul_fp16",
    "matmul_u8s8",
    "sum",
]

# sizeof() of the C++ type behind each dtype, under its NumPy, PyTorch and C++ (ScalarType) names.
_TYPE_SIZES = {
    "float64": 8,
    "float32": 4,
    "complex128": 16,
    "complex64": 8,
    "bfloat16": 2,
    "float16": 2,
}
_OTHER_NAMES = {
    "double": "float64",
    "float": "float32",
    "complexdouble": "complex128",
    "complexfloat": "complex64",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "half": "float16",
}


def cvt_fp32_to_bf16(src: Any, out: Any = None) -> Any:
    """Convert float32 to bfloat16, rounding to nearest even.

    `src` is a C-contiguous buffer of float32, of any shape. `out`, if given, is a writable C-contiguous buffer of as
    many 16-bit integers, and is returned; else a new memoryview of format ``H`` is, of `src`'s shape (of one axis, if
    `src` is empty). The integers are the bfloat16 bits. NaN stays NaN; every level gives the same bits. Raises
    TypeError for another dtype, ValueError for a layout or size that does not fit, BufferError for a read-only `out`.
    """
    if out is None:
        shape = memoryview(src).shape or ()
        out = memoryview(bytearray(2 * math.prod(shape))).cast("H")
        if len(shape) > 1 and len(out) > 0:  # memoryviews of several axes cannot be empty
            out = memoryview(out.obj).cast("H", shape)
    _core.cvt_fp32_to_bf16(src, out)
    return out


def sum(src: Any) -> float:
    """Return the sum of a C-contiguous buffer of float32, added in float32 by as many lanes as the level has.

    The order of additions, and so the last bits, depend on the level. Raises TypeError and ValueError as above.
    """
    return _core.sum(src)


def get_cpp_typesize_and_vecsize(dtype: Any) -> tuple[int, int]:
    """Return (size of the C++ type in bytes, number of them in a vector of the current level) for a dtype.

    `dtype` is one of float64, float32, complex128, complex64, bfloat16 and float16: a name, a NumPy or a PyTorch dtype.
    Raises RuntimeError for any other.
    """
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2].lower()
    name = _OTHER_NAMES.get(name, name)
    if name not in _TYPE_SIZES:
        raise RuntimeError(
            f"only floating and complex ScalarTypes are supported, not {dtype!r}; known: {', '.join(_TYPE_SIZES)}"
        )
    return _TYPE_SIZES[name], _core.vector_size(_TYPE_SIZES[name])


def _get_current_isa_level() -> str:
    """Return the level whose copy of the kernels runs."""
    return _core.current_level()


def _get_highest_cpu_support_isa_level() -> str:
    """Return the best level that CPU and OS support, built or not."""
    return _core.highest_cpu_level()


def _get_highest_binary_support_isa_level() -> str:
    """Return the best level that is built, supported or not."""
    return _core.highest_binary_level()
