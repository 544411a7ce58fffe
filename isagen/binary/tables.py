"""Tables of entries of one size. What follows the last whole entry is left out."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from typing import Any


def entries_of(form: struct.Struct, raw: bytes) -> Iterator[tuple[Any, ...]]:
    """Yield the values of each entry."""
    return form.iter_unpack(raw[: len(raw) // form.size * form.size])


def numbers_of(kind: str, raw: bytes, byteorder: str) -> array[int]:
    """Return the entries as whole numbers; `kind` is the type code of `array.array`, such as "I"."""
    numbers = array(kind)
    numbers.frombytes(raw[: len(raw) // numbers.itemsize * numbers.itemsize])
    if byteorder != sys.byteorder:
        numbers.byteswap()
    return numbers
