"""Reads initial values of an object's data, as a text to compare and show, and the symbols that pointers lead to."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from hashlib import blake2b
from typing import Literal, NamedTuple

from .contents import CODE_KINDS, Binding, Symbol, SymbolKind
from .reader import Binary

# Symbols of Arm's ABIs that only mark where code or data starts (AAELF64, "Mapping symbols").
MAPPING = re.compile(r"\$[adtx](\.|\Z)")
SHORT = 32  # bytes of an initial value that are shown
Place = tuple[int, int, int]  # index of a section, address, end


class PointerTargets(NamedTuple):
    """The symbols that the pointers in data lead to, directly or through local data.

    `local_code` contains the names of local code, and `global_names` those of code and data that are not local. The
    data of `global_names` is not searched for further pointers.
    """

    local_code: tuple[str, ...] = ()
    global_names: tuple[str, ...] = ()


class InitialValues:
    """The initial values of one object's data. Parameters `section` and `index` are the index of a section."""

    def __init__(self, file: Binary) -> None:
        self._file = file

    def targets(self, data: Iterable[tuple[int, int, int]]) -> PointerTargets:
        """Return the targets of the pointers in `data`, whose items are (index of a section, address, size).

        Data of size 0, as in assembly, ends at the next symbol, or with its section.
        """
        local_code: dict[str, None] = {}
        global_names: dict[str, None] = {}
        seen: set[tuple[int, int, int]] = set()
        waiting = [(section, at, at + size if size else self._end(section, at)) for section, at, size in data]
        while waiting:
            section, start, end = data_range = waiting.pop()
            if data_range in seen:
                continue
            seen.add(data_range)
            for relocation in self._file.relocations(self._file.sections[section], start, end):
                symbol = self._file.symbol(relocation.symbol)
                target = symbol.address + relocation.addend
                if symbol.binding != Binding.LOCAL:
                    global_names.setdefault(symbol.name)
                elif symbol.section and self._file.sections[symbol.section].executable:
                    local_code.setdefault(self._code_name(symbol, target))
                elif symbol.section:
                    waiting.append((symbol.section, target, self._end_of_target(symbol.section, target)))
        return PointerTargets(tuple(local_code), tuple(global_names))

    def text(self, section: int, address: int, size: int) -> str:
        """Return the initial value of data as text: its bytes, and what its pointers lead to.

        Local data and constants that pointers lead to are numbered; their values follow, each after its number.
        """
        places = [(section, address, address + size if size else self._end(section, address))]
        numbers = {(section, address): 0}
        values = (self._value(*place, numbers, places) for place in places)  # `_value` adds to `places`
        return "; ".join(f"({number}) {value}" if number else value for number, value in enumerate(values))

    def _value(self, index: int, start: int, end: int, numbers: dict[tuple[int, int], int], places: list[Place]) -> str:
        word = self._file.word
        size = max(end - start, 0)  # a damaged pointer may lead past the end
        raw = bytearray(self._file.read(start, size) or bytes(min(size, SHORT)))
        pointers = []
        for relocation in self._file.relocations(self._file.sections[index], start, end):
            symbol, addend = self._file.symbol(relocation.symbol), relocation.addend
            offset, target = relocation.address - start, symbol.address + addend
            raw[offset : offset + word] = bytes(word)
            owner = self._file.sections[symbol.section] if symbol.section else None
            by_value = symbol.binding == Binding.LOCAL or (owner is not None and owner.constant)
            if owner is not None and by_value and not owner.executable and symbol.kind != SymbolKind.THREAD_DATA:
                if (symbol.section, target) not in numbers:
                    numbers[symbol.section, target] = len(places)
                    places.append((symbol.section, target, self._end_of_target(symbol.section, target)))
                shown = f"pointer to ({numbers[symbol.section, target]})"
            else:
                shown = symbol.name or self._code_name(symbol, target)
                shown += f" + {addend}" if addend and symbol.kind != SymbolKind.SECTION else ""
            pointers.append((offset, shown))
        if len(pointers) == 1 and len(raw) == word:
            return pointers[0][1]
        listed = ", ".join(f"{offset}: {shown}" for offset, shown in pointers)
        return _bytes_text(bytes(raw), self._file.byteorder) + (f" ({listed})" if listed else "")

    @cached_property
    def _symbols(self) -> dict[int, list[tuple[int, int, Symbol]]]:
        """The symbols in each section as (address, number, symbol), sorted."""
        by_section: dict[int, list[tuple[int, int, Symbol]]] = {}
        for symbol in self._file.symbols():
            if not symbol.section or symbol.kind in (SymbolKind.SECTION, SymbolKind.FILE):
                continue
            if symbol.binding != Binding.LOCAL or not MAPPING.match(symbol.name):
                by_section.setdefault(symbol.section, []).append((symbol.address, symbol.number, symbol))
        for symbols in by_section.values():
            symbols.sort()
        return by_section

    def _code_name(self, symbol: Symbol, address: int) -> str:
        """Return the name of the code at `address`, the target of a relocation whose symbol is `symbol`."""
        if symbol.kind in CODE_KINDS:
            return symbol.name
        symbols = self._symbols.get(symbol.section, [])
        index = bisect_right(symbols, address, key=lambda entry: entry[0]) - 1
        name = symbols[index][2].name if index >= 0 else ""
        return name or self._file.sections[symbol.section].name  # labels of MIPS have no name

    def _end(self, index: int, address: int) -> int:
        """Return where the variable at `address` ends at the latest: at the next symbol, or with its section."""
        symbols, section = self._symbols.get(index, []), self._file.sections[index]
        following = bisect_right(symbols, address, key=lambda entry: entry[0])
        return symbols[following][0] if following < len(symbols) else section.address + section.size

    def _end_of_target(self, index: int, address: int) -> int:
        """Return the end of the data that a pointer leads to.

        A string literal may have no symbol. So constant data with neither a symbol nor a pointer at its start ends at
        its first null character: the bytes after this may belong to other literals, which may differ between levels.
        """
        end, section = self._end(index, address), self._file.sections[index]
        named = any(start == address for start, _, _ in self._symbols.get(index, ()))
        if not section.constant or named or self._file.relocations(section, address, address + 1):
            return end
        raw = self._file.read(address, end - address)
        start = raw[:3] if self._file.byteorder == "big" else raw[1:4]
        width = 2 if ".str2." in section.name else 4 if start == bytes(3) else 1
        ends = (offset + width for offset in range(0, len(raw), width) if not any(raw[offset : offset + width]))
        return address + next(ends, len(raw))


def _bytes_text(raw: bytes, byteorder: Literal["little", "big"]) -> str:
    text = raw.removesuffix(b"\0")
    if text and text.isascii() and text.decode().isprintable() and len(text) <= SHORT:
        return f'"{text.decode()}"'
    if len(raw) in (1, 2, 4, 8):
        return str(int.from_bytes(raw, byteorder))
    if len(raw) <= SHORT:
        return raw.hex(" ")
    return f"{raw[:SHORT].hex(' ')} ... {blake2b(raw, digest_size=8).hexdigest()}"
