"""The functions of DWARF debug information, versions 2 to 5: where their names stand.

Debug information is a tree of entries, one after the other. What an entry holds, its abbreviation tells: a table, which
the header of a unit leads to. Of all entries but those of functions, only the size is of interest here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Order = Literal["little", "big"]

DW_TAG_SUBPROGRAM = 0x2E
DW_AT_NAME, DW_AT_DECLARATION, DW_AT_SPECIFICATION, DW_AT_LINKAGE_NAME, DW_AT_MIPS_NAME = 0x03, 0x3C, 0x47, 0x6E, 0x2007
DW_AT_STR_OFFSETS_BASE = 0x72
DW_FORM_STRING, DW_FORM_STRP, DW_FORM_UDATA, DW_FORM_STRX, DW_FORM_IMPLICIT_CONST = 0x08, 0x0E, 0x0F, 0x1A, 0x21
DW_UT_COMPILE, DW_UT_PARTIAL = 1, 3
# Sizes in bytes, by form; those of addresses and offsets are the unit's.
SIZES = (
    dict.fromkeys((0x19, DW_FORM_IMPLICIT_CONST), 0)
    | dict.fromkeys((0x0B, 0x0C, 0x11, 0x25, 0x29), 1)
    | dict.fromkeys((0x05, 0x12, 0x26, 0x2A), 2)
    | dict.fromkeys((0x27, 0x2B), 3)
    | dict.fromkeys((0x06, 0x13, 0x1C, 0x28, 0x2C), 4)
    | dict.fromkeys((0x07, 0x14, 0x20, 0x24), 8)
    | {0x1E: 16}
)
ADDRESSES = frozenset({0x01})
OFFSETS = frozenset({DW_FORM_STRP, 0x10, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21})
INDEXES = {0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4, DW_FORM_STRX: 0}
REFERENCES = {0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8, 0x15: 0}
# Forms of other sizes: numbers of LEB128, blocks behind their size, strings.
LEB, BLOCK, BLOCK1, BLOCK2, BLOCK4, STRING = -1, -2, -3, -4, -5, -6
VARIABLE = dict.fromkeys((0x0D, DW_FORM_UDATA, 0x15, DW_FORM_STRX, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02), LEB) | {
    0x09: BLOCK,
    0x18: BLOCK,
    0x0A: BLOCK1,
    0x03: BLOCK2,
    0x04: BLOCK4,
    DW_FORM_STRING: STRING,
}


class UnreadError(Exception):
    """The debug information is of a kind that is not read here."""


class Abbreviation(NamedTuple):
    """What the entries of one code are: their tag, whether others are inside, and (attribute, form, constant) each."""

    tag: int
    children: int
    attributes: tuple[tuple[int, int, int], ...]


class Name(NamedTuple):
    """The name of a function: where its entry starts, the entry's code, and where the name stands in which form."""

    entry: int
    code: int
    place: int
    form: int


@dataclass(frozen=True)
class Unit:
    """A unit of a section: where it, its first entry and the next unit start, and where it names its table."""

    start: int
    first: int
    end: int
    table: int
    offset_size: int
    address_size: int
    version: int
    compiled: bool


def units(data: bytes, order: Order) -> Iterator[Unit]:
    """Yield the units of a section .debug_info."""
    start = 0
    while start + 11 < len(data):
        length, at, size = int.from_bytes(data[start : start + 4], order), start + 4, 4
        if length == 0xFFFFFFFF:
            length, at, size = int.from_bytes(data[at : at + 8], order), at + 8, 8
        end = at + length
        version = int.from_bytes(data[at : at + 2], order)
        if end > len(data) or not 2 <= version <= 5 or (version == 2 and size == 8):
            raise UnreadError
        if version == 5:
            kind, address_size, table, first = data[at + 2], data[at + 3], at + 4, at + 4 + size
        else:
            kind, table, address_size, first = DW_UT_COMPILE, at + 2, data[at + 2 + size], at + 3 + size
        yield Unit(start, first, end, table, size, address_size, version, kind in (DW_UT_COMPILE, DW_UT_PARTIAL))
        start = end


def abbreviations(data: bytes, at: int) -> tuple[dict[int, Abbreviation], int]:
    """Return the table that starts at a place in .debug_abbrev, by code, and where its end mark stands."""
    found = {}
    while data[at]:
        code, at = uleb(data, at)
        tag, at = uleb(data, at)
        children, at = data[at], at + 1
        attributes = []
        while True:
            attribute, at = uleb(data, at)
            form, at = uleb(data, at)
            constant = 0
            if form == DW_FORM_IMPLICIT_CONST:
                constant, at = sleb(data, at)
            if not (attribute or form):
                break
            attributes.append((attribute, form, constant))
        found[code] = Abbreviation(tag, children, tuple(attributes))
    return found, at


def uleb(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned LEB128 number at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def sleb(data: bytes, at: int) -> tuple[int, int]:
    """Return the signed LEB128 number at a place, and where it ends."""
    start = at
    value, at = uleb(data, at)
    return value - (1 << 7 * (at - start)) if data[at - 1] & 0x40 else value, at


def _may_name(abbreviation: Abbreviation) -> bool:
    """Return whether an entry is a function's, without a linkage name, that has a name or refers to where that is."""
    attributes = {attribute for attribute, _, _ in abbreviation.attributes}
    if abbreviation.tag != DW_TAG_SUBPROGRAM or attributes & {DW_AT_LINKAGE_NAME, DW_AT_MIPS_NAME}:
        return False
    return bool(attributes & {DW_AT_NAME, DW_AT_SPECIFICATION})


def _has_numbered(abbreviation: Abbreviation) -> bool:
    """Return whether an entry refers to strings by number."""
    return any(form in INDEXES for _, form, _ in abbreviation.attributes)


@dataclass(frozen=True)
class Entries:
    """The entries of one unit of a section with the content `data`, by the abbreviations of its table."""

    data: bytes
    unit: Unit
    table: Mapping[int, Abbreviation]
    order: Order

    def function_names(self) -> list[Name]:
        """Return the names of the functions that the unit defines, but for those that have a linkage name besides.

        A function of a class has its name where the class declares it; its definition refers there.
        """
        named: list[Name] = []
        declared: dict[int, Name] = {}
        specified: list[int] = []
        for entry, code, at in self._walk(self._codes(_may_name)):
            places = {attribute: (place, form) for attribute, place, form in self._attributes(code, at)}
            if DW_AT_SPECIFICATION in places:
                specified.append(self._reference(*places[DW_AT_SPECIFICATION]))
            if DW_AT_NAME in places:
                name = Name(entry, code, *places[DW_AT_NAME])
                if DW_AT_DECLARATION in places:
                    declared[entry - self.unit.start] = name
                else:
                    named.append(name)
        return named + [declared[place] for place in dict.fromkeys(specified) if place in declared]

    def string_uses(self) -> Counter[int]:
        """Return how often the unit refers to each of its strings by number."""
        found: Counter[int] = Counter()
        for _, code, at in self._walk(self._codes(_has_numbered)):
            found.update(self.index(place, form) for _, place, form in self._attributes(code, at) if form in INDEXES)
        return found

    def _codes(self, wanted: Callable[[Abbreviation], bool]) -> frozenset[int]:
        return frozenset(code for code, abbreviation in self.table.items() if wanted(abbreviation))

    def root(self) -> dict[int, int]:
        """Return the places of the attributes of the unit's first entry."""
        code, at = uleb(self.data, self.unit.first)
        return {attribute: place for attribute, place, _ in self._attributes(code, at)}

    def index(self, place: int, form: int) -> int:
        """Return the number of a string."""
        return self._number(place, INDEXES[form])

    def _number(self, place: int, size: int) -> int:
        return int.from_bytes(self.data[place : place + size], self.order) if size else uleb(self.data, place)[0]

    def _reference(self, place: int, form: int) -> int:
        return self._number(place, REFERENCES[form]) if form in REFERENCES else -1

    def _walk(self, codes: Collection[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (start, code, end of the code) of each entry that has one of the `codes`."""
        data, end = self.data, self.unit.end
        steps = {code: self._steps(code) for code in self.table}
        # The whole sizes of entries that are of no interest and of a fixed size: of most.
        fixed = {code: 1 + sizes[0] for code, sizes in steps.items() if len(sizes) == 1 and code not in codes}
        fixed = {0: 1} | {code: size for code, size in fixed.items() if code < 0x80 and size > 0}
        at = self.unit.first
        while at < end:
            if (size := fixed.get(data[at])) is not None:
                at += size
                continue
            start = at
            code, at = uleb(data, at)
            if code not in steps:
                raise UnreadError
            if code in codes:
                yield start, code, at
            for step in steps[code]:
                at = at + step if step >= 0 else _after(data, at, step, self.order)

    def _attributes(self, code: int, at: int) -> Iterator[tuple[int, int, int]]:
        """Yield (attribute, place, form) of the entry whose attributes start at a place."""
        for attribute, form, _ in self.table[code].attributes:
            yield attribute, at, form
            at = _after(self.data, at, self._size(form), self.order)

    def _steps(self, code: int) -> tuple[int, ...]:
        """Return the sizes of what an entry holds, those of a fixed size that follow each other together."""
        steps = [0]
        for _, form, _ in self.table[code].attributes:
            size = self._size(form)
            if size >= 0 and steps[-1] >= 0:
                steps[-1] += size
            else:
                steps.append(size)
        return tuple(steps)

    def _size(self, form: int) -> int:
        if form in OFFSETS:
            return self.unit.address_size if form == 0x10 and self.unit.version == 2 else self.unit.offset_size
        if form in ADDRESSES:
            return self.unit.address_size
        size = SIZES.get(form)
        if size is None:
            size = VARIABLE.get(form)
        if size is None:
            raise UnreadError
        return size


def _after(data: bytes, at: int, step: int, order: Order) -> int:
    """Return where what starts at a place ends: `step` is its size, or says how to find it."""
    if step >= 0:
        return at + step
    if step == BLOCK1:
        return at + 1 + data[at]
    if step == STRING:
        return data.index(0, at) + 1
    if step == LEB:
        while data[at] & 0x80:
            at += 1
        return at + 1
    if step == BLOCK:
        size, at = uleb(data, at)
        return at + size
    width = 2 if step == BLOCK2 else 4
    return at + width + int.from_bytes(data[at : at + width], order)
