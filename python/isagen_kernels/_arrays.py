"""Arrays that are given and returned: what a buffer holds, and new ones of the same kind."""

from __future__ import annotations

import math
import struct
import sys
from typing import Any

# NumPy's names of the struct-module formats in which results come.
_DTYPES = {"f": "float32", "d": "float64", "i": "int32", "q": "int64", "b": "int8", "B": "uint8", "H": "uint16"}

# Large NumPy results begin where a cache line does: NumPy aligns to 16 bytes, and then each vector of 64 is stored into
# two lines, which cost a channel shuffle a quarter of its speed.
_LARGE, _LINE = 1 << 20, 64


def is_numpy(array: Any) -> bool:
    """Return whether `array` is a NumPy array; NumPy is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(array, numpy.ndarray)


def view_of(array: Any, name: str) -> Any:
    """Return a view of an argument's buffer. Raises TypeError, which names it, for what has none."""
    try:
        return memoryview(array)
    except TypeError:
        kind = type(array).__name__
        raise TypeError(f"{name} must be an array or another bytes-like object, not {kind}") from None
    except ValueError as error:  # NumPy's, of dtypes that buffers cannot tell
        raise TypeError(f"{name}: {error}") from None


def format_of(view: Any) -> str:
    """Return the struct-module format of a view's items, native byte order left out, `l` as what it is as wide as."""
    code: str = view.format.lstrip("@=<" if sys.byteorder == "little" else "@=>")
    return {"l": "i" if view.itemsize == 4 else "q"}.get(code, code)


def number_format_of(view: Any) -> str:
    """Return `format_of` a view of numbers that some kernel takes; "B" of others, which every kernel will refuse."""
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

    `code` is the items' format, `dtype` NumPy's name where it is not that format's. memoryviews cannot be empty with
    several axes, and then have one.
    """
    if is_numpy(like):
        return _new_numpy(shape, dtype or _DTYPES.get(code, code))
    items = math.prod(shape)
    raw: Any = memoryview(bytearray(items * struct.calcsize(code)))
    return raw.cast(code, shape) if len(shape) > 1 and items > 0 else raw.cast(code)
