"""Arguments and results: the contents of a buffer, and new arrays of the same kind."""

from __future__ import annotations

import math
import struct
import sys
from typing import Any

# NumPy's names of the struct-module formats of results.
_DTYPES = {"f": "float32", "d": "float64", "i": "int32", "q": "int64", "b": "int8", "B": "uint8", "H": "uint16"}

# Large NumPy results are aligned to cache lines. NumPy aligns to 16 bytes, so each vector of 64 bytes would be stored
# into two lines, which costs a channel shuffle a quarter of its speed.
_LARGE, _LINE = 1 << 20, 64


def is_numpy(array: Any) -> bool:
    """Return whether `array` is a NumPy array, without importing NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(array, numpy.ndarray)


def view_of(array: Any, name: str) -> Any:
    """Return a view of an argument's buffer. Raises TypeError, which names the argument, if it has none."""
    try:
        return memoryview(array)
    except TypeError:
        kind = type(array).__name__
        raise TypeError(f"{name} must be an array or another bytes-like object, not {kind}") from None
    except ValueError as error:  # from NumPy, for dtypes that buffers cannot express
        raise TypeError(f"{name}: {error}") from None


def format_of(view: Any) -> str:
    """Return the struct-module format of a view's items, without native byte order; `l` becomes `i` or `q` by width."""
    code: str = view.format.lstrip("@=<" if sys.byteorder == "little" else "@=>")
    return {"l": "i" if view.itemsize == 4 else "q"}.get(code, code)


def number_format_of(view: Any) -> str:
    """Return `format_of` a view if it is one of a result's formats; else "B": the kernel then raises for the view."""
    code = format_of(view)
    return code if code in _DTYPES else "B"


def _new_numpy(shape: tuple[int, ...], dtype: Any) -> Any:
    numpy = sys.modules["numpy"]
    dtype = numpy.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return numpy.empty(shape, dtype)
    raw = numpy.empty(size + _LINE, numpy.uint8)
    start = -raw.__array_interface__["data"][0] % _LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def new(like: Any, shape: tuple[int, ...], code: str, dtype: str = "") -> Any:
    """Return a new array of the same kind as `like`: a NumPy array, or a memoryview of a bytearray.

    `code` is the items' format, `dtype` NumPy's name if it differs. An empty memoryview has one axis, because it cannot
    have several.
    """
    if is_numpy(like):
        return _new_numpy(shape, dtype or _DTYPES.get(code, code))
    items = math.prod(shape)
    raw: Any = memoryview(bytearray(items * struct.calcsize(code)))
    return raw.cast(code, shape) if len(shape) > 1 and items > 0 else raw.cast(code)
