"""Functions that the extension calls: for arguments that are no plain arrays, and for results of an argument's kind.

NumPy and PyTorch are never imported here: if an argument is one of their objects, they are loaded already.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

# The formats (of the module struct) of the dtypes of results. 16-bit floats are integers with their bits.
_FORMATS = {
    "float32": "f",
    "float64": "d",
    "int32": "i",
    "int64": "q",
    "int8": "b",
    "uint8": "B",
    "float16": "H",
    "bfloat16": "H",
}
_CODES = {"Zf": "complex64", "Zd": "complex128", "E": "uint16"}  # formats that are no names of dtypes in NumPy
_SIZES = {"f": 4, "d": 8, "i": 4, "q": 8, "b": 1, "B": 1, "H": 2}

# Large NumPy results are aligned to cache lines. NumPy itself aligns them to 16 bytes, so that each vector of 64 bytes
# could be stored into two lines, which costs a channel shuffle a quarter of its speed.
_LARGE, _LINE = 1 << 20, 64


def _numpy_of(array: Any) -> Any:
    """Return the module NumPy if results for `array` are of NumPy: for its objects, and for `__array__` or DLPack."""
    numpy = sys.modules.get("numpy")
    if numpy is None or isinstance(array, (numpy.ndarray, numpy.generic)):
        return numpy
    return numpy if hasattr(array, "__array__") or hasattr(array, "__dlpack__") else None


def _torch_of(array: Any) -> Any:
    """Return the module PyTorch if `array` is a tensor."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and isinstance(array, torch.Tensor) else None


def _is_plain(array: Any) -> bool:
    """Return whether `array` is a NumPy array, and of no subclass, as in most calls."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(array) is numpy.ndarray


# ---- arguments


def adapted(array: Any, name: str, is_output: bool) -> Any:
    """Return an object with a buffer or `__dlpack__` for the argument `name`. Raises TypeError if there is none."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(array, masked.MaskedArray):
        without = f"{name}.compressed() is one axis without the masked items, {name}.filled(value) replaces them, "
        remedies = f"{'' if is_output else without}{name}.data includes them"
        raise TypeError(f"{name} is a masked array, whose mask would be ignored; {remedies}")
    if _torch_of(array) is not None:
        if array.is_neg():  # memory contains its items with the opposite sign, which DLPack does not tell
            if is_output:
                raise ValueError(f"{name} is a negated view; {name}.resolve_neg() is a tensor with memory of its own")
            return array.resolve_neg()
        return array
    try:
        memoryview(array).release()
    except TypeError:
        pass
    except (BufferError, ValueError):  # NumPy's, for dtypes that buffers cannot express: `beyond_buffers` names these
        return array
    else:
        return array
    if hasattr(array, "__dlpack__"):
        return array
    if hasattr(array, "__array__") and "numpy" in sys.modules and not is_output:
        return sys.modules["numpy"].asarray(array)
    kind = type(array).__name__
    if is_output:
        remedy = "; pass an array to fill"
    else:
        is_sequence = isinstance(array, Sequence) and not isinstance(array, str)
        remedy = f"; np.asarray({name}) makes one" if is_sequence or isinstance(array, (int, float)) else ""
    raise TypeError(f"{name} must be an array or another object with a buffer, not {kind}{remedy}")


def beyond_buffers(array: Any) -> tuple[str, Any, str] | None:
    """Return facts about an array whose dtype buffers cannot express; None for other arrays.

    These are the name of its dtype, a view of its bits if the dtype is bfloat16, and the dtype of such bits.
    """
    try:
        memoryview(array).release()
    except (BufferError, TypeError, ValueError):
        dtype = str(getattr(array, "dtype", ""))
        if dtype:
            return dtype, array.view("uint16") if dtype == "bfloat16" else None, f"uint{8 * array.dtype.itemsize}"
    return None


def refuse_axis(axis: Any, axes: int) -> NoReturn:
    """Raise NumPy's error for an axis that an array lacks; without NumPy, a ValueError with the same text."""
    numpy = sys.modules.get("numpy")
    text = f"axis {axis} is out of bounds for array of dimension {axes}"
    raise (ValueError if numpy is None else getattr(numpy, "exceptions", numpy).AxisError)(text)


# ---- results


def _new_numpy(numpy: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    dtype = numpy.dtype(dtype)
    size = math.prod(shape) * dtype.itemsize
    if size < _LARGE:
        return numpy.empty(shape, dtype)
    raw = numpy.empty(size + _LINE, numpy.uint8)
    start = -raw.__array_interface__["data"][0] % _LINE
    return raw[start : start + size].view(dtype).reshape(shape)


def _new_view(shape: tuple[int, ...], code: str, size: int) -> Any:
    """Return a memoryview of new memory; with one axis if it is empty or has no axes, as casts allow no other."""
    items = math.prod(shape)
    raw: Any = memoryview(bytearray(items * size))
    return raw.cast(code, shape) if len(shape) > 1 and items > 0 else raw.cast(code)


def new(like: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Return a new array of a dtype, of the kind of `like`: a NumPy array, a tensor, or a memoryview.

    For bfloat16, NumPy arrays and memoryviews are of uint16; for float16, memoryviews are.
    """
    if _is_plain(like):
        return _new_numpy(sys.modules["numpy"], shape, "uint16" if dtype == "bfloat16" else dtype)
    if (torch := _torch_of(like)) is not None:
        return torch.empty(shape, dtype=getattr(torch, dtype))
    if (numpy := _numpy_of(like)) is not None:
        return _new_numpy(numpy, shape, "uint16" if dtype == "bfloat16" else dtype)
    code = _FORMATS[dtype]
    return _new_view(shape, code, _SIZES[code])


def new_like(like: Any, shape: tuple[int, ...], code: str) -> Any:
    """Return a new array with the dtype of `like`, whose format is `code`; a memoryview may have integers instead."""
    if (torch := _torch_of(like)) is not None:
        return torch.empty(shape, dtype=like.dtype)
    if (numpy := _numpy_of(like)) is not None:
        dtype = numpy.asarray(like).dtype if hasattr(like, "__array__") else _CODES.get(code, code)
        return _new_numpy(numpy, shape, dtype)
    size = memoryview(like).itemsize
    code = code.lstrip("@=<" if sys.byteorder == "little" else "@=>")
    castable = len(code) == 1 and code in "?cbBhHiIlLqQnNfdP"
    return _new_view(shape, code if castable else {2: "H", 4: "I", 8: "Q"}.get(size, "B"), size)


def scalar(like: Any, value: float, dtype: str) -> Any:
    """Return a number of a dtype, of the kind of `like`: a NumPy scalar, a tensor without axes, or a Python number."""
    if _is_plain(like):
        return getattr(sys.modules["numpy"], dtype)(value)
    if (torch := _torch_of(like)) is not None:
        return torch.tensor(value, dtype=getattr(torch, dtype))
    if (numpy := _numpy_of(like)) is not None:
        return getattr(numpy, dtype)(value)
    return value


def item(like: Any, array: Any, always: bool) -> Any:
    """Return a result without axes as a scalar of the kind of `like`; unless `always`, only if `like` is a scalar."""
    if _torch_of(like) is not None:
        return array
    if (numpy := _numpy_of(like)) is not None:
        return array[()] if always or isinstance(like, numpy.generic) else array
    return array[0] if always else array
