"""Names that stand in the entries of functions themselves, as GCC writes those of three letters.

The name and its end mark take as many bytes as a reference to .debug_str. So the entry becomes one with a reference, by
an abbreviation of its own in a copy of its unit's table. Shorter names take fewer bytes, and stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import dwarf as d

ONE_BYTE, TWO_BYTES = range(1, 1 << 7), range(1 << 7, 1 << 14)


def inline_text(raw: bytes) -> bytes:
    """Return the name that takes these bytes with its end mark; nothing if it takes fewer or more."""
    return raw[:-1] if raw.find(0) == len(raw) - 1 else b""


class Referring:
    """Abbreviations for entries whose names become references, beside those of a unit's `table`."""

    def __init__(self, table: Mapping[int, d.Abbreviation]) -> None:
        self._table = table
        self._codes: dict[int, int] = {}

    def code(self, code: int) -> int:
        """Return the code, of as many bytes, for entries of a code; 0 if none is left."""
        if code not in self._codes:
            taken = {*self._table, *self._codes.values()}
            codes: Iterable[int] = ONE_BYTE if code in ONE_BYTE else TWO_BYTES if code in TWO_BYTES else ()
            self._codes[code] = next((new for new in codes if new not in taken), 0)
        return self._codes[code]

    @property
    def content(self) -> bytes:
        """What follows the entries of the table, with its end mark."""
        text = bytearray()
        for old, new in self._codes.items():
            if new:
                abbreviation = self._table[old]
                text += encoded(new) + encoded(abbreviation.tag) + bytes([abbreviation.children])
                for attribute, form, constant in abbreviation.attributes:
                    text += encoded(attribute)
                    text += encoded(d.DW_FORM_STRP if attribute == d.DW_AT_NAME else form)
                    text += encoded_signed(constant) if form == d.DW_FORM_IMPLICIT_CONST else b""
                text += b"\0\0"
        return bytes(text) + b"\0" if text else b""


def encoded(value: int) -> bytes:
    """Return an unsigned LEB128 number."""
    text = bytearray()
    while value >= 0x80:
        text.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*text, value])


def encoded_signed(value: int) -> bytes:
    """Return a signed LEB128 number."""
    text = bytearray()
    while not -0x40 <= value < 0x40:
        text.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*text, value & 0x7F])
