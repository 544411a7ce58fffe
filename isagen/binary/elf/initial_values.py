"""The addresses that data of an ELF object holds: of code, and of symbols that a linker has yet to place."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b

from ..protocol import CODE_KINDS, Binding, SymbolKind
from ..sealing_protocol import PointerTargets
from . import layout as e
from .entries import ElfSymbol
from .reader import Elf
from .relocations import relocations

SHORT = 32  # bytes of an initial value that are shown

# Where a pointer is, in its section; the number of the symbol that it is to; and how far behind that.
Pointer = tuple[int, int, int]


class HeldAddresses:
    """The addresses in the data of one object, by its relocations; `table` is the number of its symbol table."""

    def __init__(self, elf: Elf, table: int) -> None:
        self._elf = elf
        self._table = elf.sections[table]

    def of(self, section: int, address: int, size: int) -> PointerTargets:
        """Return what `size` bytes at an `address` in a section hold, and the local data that they lead to.

        Assembly need not tell a size: without one, the data ends where the next symbol is.
        """
        code: dict[str, None] = {}
        names: dict[str, None] = {}
        seen: set[tuple[int, int]] = set()
        waiting = [(section, address, address + size if size else self._end(section, address))]
        while waiting:
            place, low, high = waiting.pop()
            if (place, low) in seen:
                continue
            seen.add((place, low))
            for _, number, addend in self._between(place, low, high):
                symbol = self._elf.symbol_of(self._table, number)
                if symbol.binding != Binding.LOCAL:
                    names.setdefault(self._elf.name(symbol))
                elif symbol.section and self._elf.sections[symbol.section].executable:
                    code.setdefault(self._code_at(symbol, addend))
                elif symbol.section:
                    target = symbol.address + addend
                    waiting.append((symbol.section, target, self._end_of_value(symbol.section, target)))
        return PointerTargets(tuple(code), tuple(names))

    def value(self, section: int, address: int, size: int) -> str:
        """Return the initial value of data as text: its bytes, and what its pointers lead to.

        Local data that they lead to, and constants of the object, count by their own values.
        """
        return self._value(section, address, address + size if size else self._end(section, address), {})

    def _value(self, section: int, low: int, high: int, seen: dict[tuple[int, int], int]) -> str:
        place = self._elf.sections[section]
        if (section, low) in seen:
            return f"as number {seen[section, low]}"
        seen[section, low] = len(seen)
        raw = bytearray(self._elf.read(low, high - low) if place.in_file else bytes(min(high - low, SHORT)))
        found = []
        for at, number, addend in self._between(section, low, high):
            raw[at - low : at - low + self._elf.layout.word] = bytes(self._elf.layout.word)
            symbol = self._elf.symbol_of(self._table, number)
            target = symbol.address + addend
            there = self._elf.sections[symbol.section] if symbol.section else None
            own = symbol.binding == Binding.LOCAL or (there is not None and there.constant)
            if there is not None and own and not there.executable and symbol.kind != SymbolKind.THREAD_DATA:
                shown = self._value(symbol.section, target, self._end_of_value(symbol.section, target), seen)
            else:
                shown = self._elf.name(symbol) or self._code_at(symbol, addend)
                shown += f" + {addend}" if addend and symbol.kind != SymbolKind.SECTION else ""
            found.append(f"{at - low}: {shown}")
        if len(found) == 1 and len(raw) == self._elf.layout.word:
            return found[0].partition(": ")[2]
        return _shown(bytes(raw)) + (f" ({', '.join(found)})" if found else "")

    def _between(self, section: int, low: int, high: int) -> Sequence[Pointer]:
        found = self._pointers.get(section, [])
        return found[bisect_left(found, (low, 0, 0)) : bisect_left(found, (high, 0, 0))]

    @cached_property
    def _pointers(self) -> dict[int, list[Pointer]]:
        """The relocations of each section of data, in order."""
        found: dict[int, list[Pointer]] = {}
        for section in self._elf.sections:
            if section.type not in e.RELOCATION_SECTIONS or section.info >= len(self._elf.sections):
                continue
            place = self._elf.sections[section.info]
            if not place.in_file or place.executable or section.type == e.SHT_CREL:
                continue
            implicit = section.type == e.SHT_REL
            for offset, _, symbol, addend in relocations(self._elf, section):
                address = place.address + offset
                found.setdefault(place.index, []).append((address, symbol, self._word(address) if implicit else addend))
        for pointers in found.values():
            pointers.sort()
        return found

    def _word(self, address: int) -> int:
        """Return the number that a pointer holds before it is relocated."""
        raw = self._elf.read(address, self._elf.layout.word)
        return int.from_bytes(raw, self._elf.layout.byteorder, signed=True)

    @cached_property
    def _local(self) -> dict[int, list[tuple[int, int, ElfSymbol]]]:
        """The symbols of each section by address, in order; of several at one address a named one is last."""
        found: dict[int, list[tuple[int, int, ElfSymbol]]] = {}
        for symbol in self._elf.symbols_of(self._table):
            if symbol.section and symbol.kind not in (SymbolKind.SECTION, SymbolKind.FILE):
                found.setdefault(symbol.section, []).append((symbol.address, symbol.number, symbol))
        for symbols in found.values():
            symbols.sort()
        return found

    def _code_at(self, symbol: ElfSymbol, addend: int) -> str:
        """Return the name of the code that a relocation to a local symbol leads to."""
        if symbol.kind in CODE_KINDS:
            return self._elf.name(symbol)
        known = self._local.get(symbol.section, [])
        place = bisect_right(known, (symbol.address + addend, len(known) + self._table.size)) - 1
        name = self._elf.name(known[place][2]) if place >= 0 else ""
        return name or self._elf.sections[symbol.section].name  # MIPS's labels have no name

    def _end(self, section: int, address: int) -> int:
        """Return where the variable at an address ends at the latest: where the next one starts."""
        known = self._local.get(section, [])
        place = bisect_right(known, (address, self._table.size))
        limit = self._elf.sections[section].address + self._elf.sections[section].size
        return known[place][0] if place < len(known) else limit

    def _end_of_value(self, section: int, address: int) -> int:
        """Return where data ends that a pointer leads to: a string literal has no symbol, and ends in a null character.

        What comes behind it belongs to other code of the source, and may differ.
        """
        end, place = self._end(section, address), self._elf.sections[section]
        named = any(one == address for one, _, _ in self._local.get(section, ()))
        if not place.constant or named or self._between(section, address, address + 1):
            return end
        raw = self._elf.read(address, end - address)
        width = 2 if ".str2." in place.name else 4 if raw[1:4] == bytes(3) else 1
        texts = (at + width for at in range(0, len(raw), width) if not any(raw[at : at + width]))
        return address + next(texts, len(raw))


def _shown(raw: bytes) -> str:
    """Return bytes as text: short texts and numbers as such, long ones by their start and a digest."""
    text = raw.removesuffix(b"\0")
    if text and text.isascii() and text.decode().isprintable() and len(text) <= SHORT:
        return f'"{text.decode()}"'
    if len(raw) in (1, 2, 4, 8):
        return str(int.from_bytes(raw, "little"))
    if len(raw) <= SHORT:
        return raw.hex(" ")
    return f"{raw[:SHORT].hex(' ')} ... {blake2b(raw, digest_size=8).hexdigest()}"
