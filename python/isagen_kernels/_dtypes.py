"""Names of dtypes: of NumPy, PyTorch, ml_dtypes, Python's own numbers, or text."""

from __future__ import annotations

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
}


def numpy_name_of(dtype: Any) -> str:
    """Return NumPy's name of an argument `dtype`: as `name_of`, but text means what it means there."""
    return _OF_NUMPY.get(dtype, dtype) if isinstance(dtype, str) else name_of(dtype)


def name_of(dtype: Any) -> str:
    """Return NumPy's name of a dtype in small letters; of anything else, some text.

    `dtype` is NumPy's or PyTorch's dtype, a scalar type such as numpy.float32, Python's float (float64) or complex, or
    text: NumPy's name, or the name of C++ or of a PyTorch ScalarType, where "float" is float32.
    """
    if isinstance(dtype, type):
        return _OF_PYTHON.get(dtype) or dtype.__name__.lower()
    name = str(getattr(dtype, "name", dtype)).rpartition(".")[2].lower()
    return _OF_TEXT.get(name, name)
