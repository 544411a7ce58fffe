"""Reads the encoded numbers and texts of the loader's data in a Mach-O file."""

from __future__ import annotations

LONGEST = 63  # bits of a number before its last byte, at most


class Stream:
    """The `size` bytes of `data` at offset `start`. Reading beyond their end raises `ValueError`."""

    def __init__(self, data: bytes, start: int, size: int) -> None:
        self._data, self.place, self._end = data, start, start + size
        if self._end > len(data):
            raise ValueError("data for the loader are cut off")

    def __bool__(self) -> bool:
        """Return whether bytes are left."""
        return self.place < self._end

    def byte(self) -> int:
        """Return the next byte."""
        if self.place >= self._end:
            raise ValueError("data for the loader end too early")
        self.place += 1
        return self._data[self.place - 1]

    def uleb(self) -> int:
        """Return the next unsigned number (LEB128)."""
        return self._leb()[0]

    def sleb(self) -> int:
        """Return the next signed number (LEB128)."""
        value, bits = self._leb()
        return value - (1 << bits if value >> (bits - 1) & 1 else 0)

    def _leb(self) -> tuple[int, int]:
        value = 0
        for shift in range(0, LONGEST + 1, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & (1 << 64) - 1, min(shift + 7, 64)
        raise ValueError("a number is too long")

    def text(self) -> bytes:
        """Return the bytes up to the next zero."""
        start, end = self.place, self._data.find(b"\0", self.place, self._end)
        if end < 0:
            raise ValueError("a name has no end")
        self.place = end + 1
        return self._data[start:end]
