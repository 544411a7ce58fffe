"""The names and vector widths of levels, in functions that are called as in Intel Extension for PyTorch."""

from __future__ import annotations

from typing import Any

from . import _core
from ._dtypes import name_of

# sizeof() of the C++ type behind each dtype.
_TYPE_SIZES = {
    "float64": 8,
    "float32": 4,
    "complex128": 16,
    "complex64": 8,
    "bfloat16": 2,
    "float16": 2,
}


def get_cpp_typesize_and_vecsize(dtype: Any) -> tuple[int, int]:
    """Return, for a dtype, the size of its C++ type in bytes, and its number of elements in a vector of this level.

    `dtype` is one of float64, float32, complex128, complex64, bfloat16 and float16: a name, a dtype of NumPy or
    PyTorch, or a scalar type such as numpy.float32 or ml_dtypes.bfloat16. Raises RuntimeError for any other.
    """
    name = name_of(dtype)
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
