"""Returns the names of dtypes, which may be objects of NumPy, PyTorch or ml_dtypes, types of Python, or text."""

from __future__ import annotations

import sys
from struct import calcsize
from typing import Any

Array = Any
"""A NumPy array, a PyTorch tensor, or another object with a buffer, `__dlpack__` or `__array__`."""

_OF_PYTHON: dict[Any, str] = {float: "float64", int: "int64", complex: "complex128", bool: "bool"}
_OF_TEXT = {
    "double": "float64",
    "float": "float32",
    "complexdouble": "complex128",
    "complexfloat": "complex64",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "half": "float16",
}
_OF_NUMPY = {
    **dict.fromkeys(("f4", "f", "single"), "float32"),
    **dict.fromkeys(("f8", "d", "float", "double"), "float64"),
    **dict.fromkeys(("i4", "i"), "int32"),
    **dict.fromkeys(("i8", "q", "int"), "int64"),
    **dict.fromkeys(("l", "long"), f"int{8 * calcsize('l')}"),
}
_NATIVE = "<=" if sys.byteorder == "little" else ">="


def numpy_name_of(dtype: Any) -> str:
    """Return NumPy's name of a dtype as `name_of` does, except that text means what it means in NumPy.

    Text may begin with the machine's byte order, as "<f4" may.
    """
    return _OF_NUMPY.get(dtype.lstrip(_NATIVE), dtype) if isinstance(dtype, str) else name_of(dtype)


def name_of(dtype: Any) -> str:
    """Return NumPy's name of a dtype in small letters; for anything else, an unspecified text.

    `dtype` is a dtype of NumPy or PyTorch, a scalar type such as numpy.float32, Python's float (float64) or complex, or
    text. Text is a name of NumPy, of C++, or of a PyTorch ScalarType; "float" is float32, as in C++ and PyTorch.
    """
    if isinstance(dtype, type):
        return _OF_PYTHON.get(dtype) or dtype.__name__.lower()
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2].lower()
    return _OF_TEXT.get(name, name)
