"""Reads the fixups of a linked Mach-O file: the pointers that the loader writes.

The pointers form chains: each contains the distance to the next (<mach-o/fixup-chains.h>). Instead of chains, older
files and files that zig links contain programs of opcodes, which say where to write what (<mach-o/loader.h>,
REBASE_OPCODE and BIND_OPCODE).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..reader import NAMES
from . import layout as m

MASK = (1 << 64) - 1
LONGEST = 63  # the shift of the tenth byte, the last that an encoded number may have
POINTER, POINTER_OFFSET = 2, 6  # DYLD_CHAINED_PTR_64: addresses; ..._OFFSET: offsets from the base address
SIGNED = (1, 7, 9, 10, 12)  # formats of arm64e
NO_CHAIN = 0xFFFF
# By the format of imports: the struct of an import, how many of its low bits are the library's number, and from which
# bit on it contains the offset of the name.
IMPORTS = {1: ("<I", 8, 9), 2: ("<Ii", 8, 9), 3: ("<Qq", 16, 32)}
# The opcodes, by the upper half of their byte; the lower half is a number.
REBASE_OPCODES = (
    *("end", "type", "place", "skip", "skip words"),
    *("write times", "write many", "write, skip", "write many, skip"),
)
BIND_OPCODES = (
    *("end", "library", "long library", "special library", "name", "type", "addend"),
    *("place", "skip", "write", "write, skip", "write, skip words", "write many, skip"),
)


class Segment(NamedTuple):
    """A segment: `file_size` bytes of the file at `offset` are loaded at `address`."""

    address: int
    offset: int
    file_size: int


class Fixup(NamedTuple):
    """A pointer at the address `place`. It points to the `address`.

    If `name` is not empty, it points to `addend` bytes after the symbol of this name. If `own` is
    set, the symbol may be one of this file's exports.
    """

    place: int
    address: int = 0
    name: str = ""
    own: bool = False
    addend: int = 0


class Stream:
    """The `size` bytes of `data` at offset `start`. Reading beyond their end raises `ValueError`."""

    def __init__(self, data: bytes, start: int, size: int) -> None:
        self._data, self.place, self._end = data, start, start + size
        if self._end > len(data):
            raise ValueError("data for the loader are cut off")

    def __bool__(self) -> bool:
        return self.place < self._end

    def byte(self) -> int:
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
        start, end = self.place, self._data.find(b"\0", self.place, self._end)
        if end < 0:
            raise ValueError("a name has no end")
        self.place = end + 1
        return self._data[start:end]


def by_opcodes(data: bytes, segments: Sequence[Segment], fields: Sequence[int]) -> Iterator[Fixup]:
    """Yield the fixups that opcodes describe. `fields` are the fields of LC_DYLD_INFO.

    A place may have several fixups: the last one counts. Raises `ValueError` or `IndexError` if the file is damaged.
    """
    rebases, binds, weak, lazy = (Stream(data, *fields[at : at + 2]) for at in (2, 4, 6, 8))
    for offset, fixup in _run(rebases, REBASE_OPCODES, segments, len(data)):
        yield fixup._replace(address=int.from_bytes(data[offset : offset + 8], "little"))
    yield from (fixup for _, fixup in _run(binds, BIND_OPCODES, segments, len(data)))
    yield from (fixup for _, fixup in _run(lazy, BIND_OPCODES, segments, len(data), is_lazy=True))
    yield from (fixup._replace(own=True) for _, fixup in _run(weak, BIND_OPCODES, segments, len(data)))


def _run(
    stream: Stream, opcodes: Sequence[str], segments: Sequence[Segment], left: int, is_lazy: bool = False
) -> Iterator[tuple[int, Fixup]]:
    """Yield (offset in the file, fixup) of each pointer. Raises `ValueError` if there are more than `left`."""
    segment = offset = library = addend = 0
    name = ""
    while stream:
        byte = stream.byte()
        code, number = divmod(byte, 16)
        count = skipped = 0
        match opcodes[code] if code < len(opcodes) else "":
            case "end":
                if not is_lazy:  # in lazy binds, this opcode ends a symbol and not the stream
                    return
            case "library":
                library = number
            case "long library":
                library = stream.uleb()
            case "special library":
                library = number - 16 if number else 0
            case "name":
                name = stream.text().decode(errors="surrogateescape")
            case "addend":
                addend = stream.sleb()
            case "type" if number == 1:  # a pointer
                pass
            case "place":
                segment, offset = number, stream.uleb()
            case "skip":
                offset += stream.uleb()
            case "skip words":
                offset += 8 * number
            case "write":
                count = 1
            case "write times":
                count = number
            case "write many":
                count = stream.uleb()
            case "write, skip":
                count, skipped = 1, stream.uleb()
            case "write, skip words":
                count, skipped = 1, 8 * number
            case "write many, skip":
                count, skipped = stream.uleb(), stream.uleb()
            case _:
                raise ValueError(f"opcode {byte:#x} of its fixups is not known")
        left -= count
        if left < 0:
            raise ValueError("it has more fixups than bytes")
        for _ in range(count):
            offset &= MASK
            start, size = segments[segment].offset, segments[segment].file_size
            if offset + 8 > size:
                raise ValueError("a fixup is outside of its segment")
            yield start + offset, Fixup(segments[segment].address + offset, 0, name, library <= 0, addend)
            offset += 8 + skipped


def by_chains(data: bytes, segments: Sequence[Segment], base: int, start: int, size: int) -> Iterator[Fixup]:
    """Yield the fixups in chains, which the `size` bytes at `start` describe. The file is loaded at `base`.

    Raises `ValueError`, `IndexError` or `struct.error` if the file is damaged or has a format that is not read.
    """
    part = data[start : start + size]
    _, starts_at, imports_at, names_at, count, kind, names_kind = m.CHAINS.unpack_from(part)
    if kind not in IMPORTS or names_kind:
        raise ValueError(f"its imports are of format {kind}, their names of format {names_kind}, which are not read")
    imports = list(_imports(part, imports_at, names_at, count, kind))
    (segment_count,) = struct.unpack_from("<I", part, starts_at)
    for segment, at in zip(segments, struct.unpack_from(f"<{segment_count}I", part, starts_at + 4), strict=False):
        if not at:
            continue
        _, page_size, form, _, _, pages = m.CHAIN_STARTS.unpack_from(part, starts_at + at)
        if form not in (POINTER, POINTER_OFFSET):
            whose = " of arm64e" if form in SIGNED else ""
            raise ValueError(f"its pointers are of format {form}{whose}, which is not read")
        firsts = struct.unpack_from(f"<{pages}H", part, starts_at + at + m.CHAIN_STARTS.size)
        for page, first in enumerate(firsts):
            if first == NO_CHAIN:
                continue
            low, high = page * page_size, min((page + 1) * page_size, segment.file_size)
            for place, value in _chain(data, segment, low + first, high):
                if value >> 63:
                    name, own, more = imports[value & 0xFFFFFF]
                    yield Fixup(place, 0, name, own, more + (value >> 24 & 0xFF))
                else:
                    yield Fixup(place, (value & 0xFFFFFFFFF) + (base if form == POINTER_OFFSET else 0))


def _imports(part: bytes, start: int, names: int, count: int, kind: int) -> Iterator[tuple[str, bool, int]]:
    """Yield (name, whether it may be one of this file's exports, addend) of each import.

    `start` and `names` are the offsets of the imports and of their names in `part`.
    """
    form, bits, before = IMPORTS[kind]
    entry, left = struct.Struct(form), NAMES * len(part)
    for value, *addend in entry.iter_unpack(part[start : start + count * entry.size]):
        place = names + (value >> before)
        end = part.find(0, place)
        left -= end - place
        if end < 0 or left < 0:
            raise ValueError("the names of its imports are cut off or too long")
        library = value & (1 << bits) - 1
        # 0 stands for this file. Negative numbers stand for the main program, or for a search of several files.
        special = library == 0 or library >= (1 << bits) - 16
        yield part[place:end].decode(errors="surrogateescape"), special, addend[0] if addend else 0


def _chain(data: bytes, segment: Segment, offset: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield (address, value in the file) of the pointers in one page, from `offset` to `end` in the segment."""
    while True:
        if offset >= end or offset + 8 > segment.file_size:
            raise ValueError("a chain of pointers leaves its page")
        at = segment.offset + offset
        value = int.from_bytes(data[at : at + 8], "little")
        yield segment.address + offset, value
        step = 4 * (value >> 51 & 0xFFF)
        if not step:
            return
        offset += step
