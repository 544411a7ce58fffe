"""The code of a binary: its functions, what each one does, and what runs without anybody's call."""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from . import elf as e
from .elf import Elf, ElfSection, ElfSymbol
from .instructions import INVALID, Codes, iced_x86

# iced-x86's FlowControl.
UNCONDITIONAL, INDIRECT_BRANCH, CONDITIONAL, CALL, INDIRECT_CALL = 1, 2, 3, 5, 6
# System V ABI for x86-64, relocation types.
R_GLOB_DAT, R_JUMP_SLOT, R_RELATIVE, R_64, R_IRELATIVE = 6, 7, 8, 1, 37
PC_RELATIVE = frozenset({2, 4, 9, 41, 42, 43, 44, 45})  # PC32, PLT32, GOTPCREL and their like: seen from the next byte
# iced-x86's OpAccess: write, conditional write, read and write, read and conditional write.
WRITES = frozenset({3, 4, 5, 6})
# Functions that take another one to run it at exit.
AT_EXIT = frozenset({"__cxa_atexit", "atexit", "on_exit", "at_quick_exit", "__cxa_at_quick_exit"})
# Sections of pointers to functions that the loader calls.
AT_LOAD = {".preinit_array": "when loaded", ".init_array": "when loaded", ".ctors": "when loaded"}
AT_END = {".fini_array": "at exit", ".dtors": "at exit"}
SIZE = (1 << 34) - 1
PADDING = frozenset(b"\x00\x90\xcc")

# What `Code.events` yields: (address of the instruction, what it does, address that it does it to). It may "call" code,
# "set" data, or make a pointer to it, "point".
Event = tuple[int, str, int]


@dataclass(frozen=True)
class Root:
    """A function that nobody needs to call: `when` it runs."""

    address: int
    when: str


class Code:
    """The functions of an ELF file for x86-64.

    Functions are numbered by address. Their places come from the symbols; in a stripped file, also from what it says
    for unwinding the stack.
    """

    def __init__(self, binary: Elf) -> None:
        self.elf = binary
        table = binary.symbol_table
        packed: list[int] = []  # start, preference, size, symbol's number + 1: in one number each, which sorts fast
        executable = {s.index for s in binary.sections if s.executable}
        for symbol in binary.symbols(table):
            if symbol.section in executable and (
                symbol.kind in (e.STT_FUNC, e.STT_IFUNC) or (symbol.kind == e.STT_NOTYPE and symbol.binding != 0)
            ):
                preference = 0 if symbol.binding != e.STB_LOCAL else 1
                packed.append(_pack(symbol.address, preference, symbol.size, symbol.number + 1))
        if binary.stripped:
            packed += [_pack(start, 2, size, 0) for start, size in self._unwound()]
        packed += [_pack(binary.sections[i].address, 3, 0, 0) for i in executable]
        packed.sort()
        self.starts, self.sizes, self.numbers = array("Q"), array("Q"), array("I")
        for one in packed:
            start = one >> 68
            if not self.starts or self.starts[-1] != start:
                self.starts.append(start)
                self.sizes.append(one >> 32 & SIZE)
                self.numbers.append(one & 0xFFFFFFFF)
            elif not self.sizes[-1]:
                self.sizes[-1] = one >> 32 & SIZE

    def __len__(self) -> int:
        return len(self.starts)

    def _unwound(self) -> Iterator[tuple[int, int]]:
        """Yield the (address, size) of functions, as .eh_frame tells them (Linux Standard Base, DWARF extensions)."""
        section = self.elf.section(".eh_frame")
        if section is None or self.elf.relocatable:
            return
        raw = self.elf.content(section)
        known: dict[int, bool] = {}
        place = 0
        while place + 8 <= len(raw):
            length, back = struct.unpack_from("<II", raw, place)
            if length in (0, 0xFFFFFFFF):
                place += 4
                continue
            record = place + 4
            if back != 0 and place + 20 <= len(raw):
                origin = record - back
                if origin not in known:
                    known[origin] = _is_common(raw, origin)
                if known[origin]:
                    start, size = struct.unpack_from("<iI", raw, record + 4)
                    yield section.address + record + 4 + start, size
            place = record + length

    def at(self, address: int) -> int:
        """Return the number of the function that covers `address`; -1 if it is no code."""
        section = self.elf.section_at(address)
        return bisect_right(self.starts, address) - 1 if section is not None and section.executable else -1

    def symbol(self, number: int) -> ElfSymbol | None:
        """Return the symbol of a function, if it has one."""
        place = self.numbers[number]
        table = self.elf.symbol_table
        return self.elf.symbol(table, place - 1) if place and table is not None else None

    def name(self, number: int) -> str:
        """Return a function's name, or where it is."""
        symbol = self.symbol(number)
        if symbol is not None and self.elf.symbol_table is not None:
            return self.elf.name(self.elf.symbol_table, symbol)
        return f"function at {self.starts[number]:#x}"

    def named(self, number: int) -> bool:
        """Return whether a function has a name."""
        return self.numbers[number] != 0

    def section(self, number: int) -> ElfSection:
        """Return the section that a function is in."""
        section = self.elf.section_at(self.starts[number])
        assert section is not None
        return section

    def end(self, number: int) -> int:
        """Return the address after a function's last byte; 0 where nobody says it."""
        return self.starts[number] + self.sizes[number] if self.sizes[number] else 0

    def extent(self, number: int) -> tuple[int, int]:
        """Return a function's first address and the one after its last, up to the next function at most."""
        start = self.starts[number]
        section = self.elf.section_at(start)
        limit = section.address + section.size if section is not None else start
        if number + 1 < len(self.starts):
            limit = min(limit, self.starts[number + 1])
        end = self.end(number)
        return start, min(end, limit) if end else limit

    def sized(self, number: int) -> bool:
        """Return whether somebody says how long a function is, so that all its bytes are instructions."""
        return self.end(number) != 0

    def codes(self, number: int) -> Codes:
        """Return the codes of a function's instructions."""
        start, end = self.extent(number)
        return frozenset(i.code for i in iced_x86.Decoder(64, self.elf.read(start, end - start), ip=start))

    def decode(self, number: int) -> Iterator[iced_x86.Instruction]:
        """Yield a function's instructions."""
        start, end = self.extent(number)
        yield from iced_x86.Decoder(64, self.elf.read(start, end - start), ip=start)

    def first(self, number: int, codes: Codes) -> tuple[int, str]:
        """Return the address and the text of a function's first instruction among `codes`."""
        formatter = iced_x86.Formatter(iced_x86.FormatterSyntax.INTEL)
        formatter.hex_prefix, formatter.hex_suffix = "0x", ""
        formatter.rip_relative_addresses = True
        formatter.space_after_operand_separator = True
        for instruction in self.decode(number):
            if instruction.code in codes:
                if instruction.code == INVALID:
                    return instruction.ip, "bytes that are no known instruction"
                return instruction.ip, formatter.format(instruction)
        return self.starts[number], ""

    def between(self) -> Iterator[tuple[int, bytes]]:
        """Yield the bytes between functions of known length that are not just padding."""
        for number in range(len(self.starts)):
            end = self.end(number)
            if not end:
                continue
            section = self.section(number)
            limit = section.address + section.size
            if number + 1 < len(self.starts):
                limit = min(limit, self.starts[number + 1])
            if limit - end >= 16:
                raw = self.elf.read(end, limit - end)
                if not PADDING.issuperset(raw):
                    yield end, raw

    # What runs by itself, and what code refers to.

    @cached_property
    def _slots(self) -> dict[int, tuple[str, int]]:
        """Where pointers that somebody calls through lead: by their address, (how, address or symbol's number)."""
        binary = self.elf
        wanted = [
            s for s in binary.sections if s.name.startswith((*AT_LOAD, *AT_END, ".got")) and s.flags & e.SHF_ALLOC
        ]
        spans = sorted((s.address, s.address + s.size) for s in wanted)
        starts = [a for a, _ in spans]
        found: dict[int, tuple[str, int]] = {}
        for section in binary.sections:
            if section.type != e.SHT_RELA or not section.flags & e.SHF_ALLOC:
                continue
            for offset, kind, symbol, addend in binary.relocations(section):
                if kind == R_IRELATIVE:
                    found[offset] = ("resolver", addend)
                elif kind in (R_GLOB_DAT, R_JUMP_SLOT, R_RELATIVE, R_64):
                    place = bisect_right(starts, offset) - 1
                    if place >= 0 and offset < spans[place][1]:
                        found[offset] = ("address", addend) if kind == R_RELATIVE else ("symbol", symbol)
        return found

    @cached_property
    def resolvers(self) -> tuple[int, ...]:
        """The addresses of ifunc resolvers, which the loader calls."""
        found = [address for how, address in self._slots.values() if how == "resolver"]
        table = self.elf.symbol_table
        found += [s.address for s in self.elf.symbols(table) if s.kind == e.STT_IFUNC and s.defined]
        if not self.elf.stripped:
            dynamic = self.elf.dynamic_table
            found += [s.address for s in self.elf.symbols(dynamic) if s.kind == e.STT_IFUNC and s.defined]
        return tuple(sorted(set(found)))

    def roots(self) -> tuple[Root, ...]:
        """Return what the loader runs, before anybody asked what the CPU has, or at exit, whatever was answered."""
        found = [Root(address, "when loaded, as an ifunc resolver") for address in self.resolvers]
        for section in self.elf.sections:
            for names, default in ((AT_LOAD, "when loaded"), (AT_END, "at exit")):
                if section.flags & e.SHF_ALLOC and section.name.startswith(tuple(names)):
                    found += [Root(target, default) for target in self._pointers(section)]
            if section.name in (".init", ".fini") and section.executable:
                found.append(Root(section.address, "when loaded" if section.name == ".init" else "at exit"))
        return tuple(dict.fromkeys(found))

    def _pointers(self, section: ElfSection) -> Iterator[int]:
        if self.elf.relocatable:
            for _, target in self._references.get(section.index, ()):
                yield target
            return
        content = self.elf.content(section)
        for place, (value,) in enumerate(struct.iter_unpack("<Q", content[: len(content) // 8 * 8])):
            target = self._follow(section.address + 8 * place) or value
            if target not in (0, 0xFFFFFFFFFFFFFFFF):
                yield target

    def _follow(self, slot: int) -> int:
        """Return the address of the code that the pointer in `slot` leads to; 0 if it is in no place of this file."""
        how, value = self._slots.get(slot, ("none", 0))
        if how == "address":
            return value
        if how == "symbol" and self.elf.dynamic_table is not None:
            symbol = self.elf.symbol(self.elf.dynamic_table, value)
            return symbol.address if symbol.defined and symbol.kind != e.STT_IFUNC else 0
        if how == "none" and not self._slots:  # a program without relocations
            raw = self.elf.read(slot, 8)
            return int.from_bytes(raw, "little") if len(raw) == 8 else 0
        return 0

    def _slot_name(self, slot: int) -> str:
        how, value = self._slots.get(slot, ("none", 0))
        table = self.elf.dynamic_table
        return self.elf.name(table, self.elf.symbol(table, value)) if how == "symbol" and table is not None else ""

    def _landing(self, target: int) -> tuple[int, str]:
        """Follow a jump table of the linker (.plt): return the address that `target` leads to, and an external name."""
        section = self.elf.section_at(target)
        if section is not None and section.name.startswith((".plt", ".iplt")):
            for instruction in iced_x86.Decoder(64, self.elf.read(target, 24), ip=target):
                if instruction.flow_control == INDIRECT_BRANCH and instruction.is_ip_rel_memory_operand:
                    slot = instruction.ip_rel_memory_address
                    return self._follow(slot), self._slot_name(slot)
            return 0, ""
        if self.elf.stripped:
            return target, ""
        number = self.at(target)
        return target, self.name(number) if number >= 0 and self.starts[number] == target else ""

    @cached_property
    def _references(self) -> dict[int, list[tuple[int, int]]]:
        """In an object: by section, (address, address referred to) of its relocations, in order."""
        binary = self.elf
        found: dict[int, list[tuple[int, int]]] = {}
        for section in binary.sections:
            if section.type != e.SHT_RELA or section.info >= len(binary.sections):
                continue
            place = binary.sections[section.info]
            if not place.flags & e.SHF_ALLOC:
                continue
            table = binary.sections[section.link]
            symbols = {s.number: s for s in binary.symbols(table)} if section.size else {}
            listed = found.setdefault(place.index, [])
            for offset, kind, number, addend in binary.relocations(section):
                symbol = symbols[number]
                if symbol.defined:
                    listed.append((place.address + offset, symbol.address + addend + (4 if kind in PC_RELATIVE else 0)))
            listed.sort()
        return found

    def events(self, number: int) -> Iterator[Event]:
        """Yield, in the order of the code, what a function passes control to, and the data that it sets or points to.

        A function that is handed over to be run at exit counts as called. Calls through registers and tables are not
        seen.
        """
        start, end = self.extent(number)
        if self.elf.relocatable:
            for address, target in self._references.get(self.section(number).index, ()):
                if start <= address < end:
                    section = self.elf.section_at(target)
                    if section is not None and not start <= target < end:
                        yield address, "call" if section.executable else "point", target
            return
        taken = 0
        pointers: dict[int, int] = {}  # by register; what happens to one after that is not followed
        factory = iced_x86.InstructionInfoFactory()
        for instruction in self.decode(number):
            for memory in factory.info(instruction).used_memory():
                if memory.access in WRITES:
                    place = memory.displacement if instruction.is_ip_rel_memory_operand else pointers.get(memory.base)
                    if place:
                        yield instruction.ip, "set", place
            flow = instruction.flow_control
            if flow in (CALL, UNCONDITIONAL, CONDITIONAL):
                target = instruction.near_branch_target
                if start <= target < end:
                    continue
                landing, name = self._landing(target)
                if landing:
                    yield instruction.ip, "call", landing
                if name in AT_EXIT and taken:
                    yield instruction.ip, "call", taken
            elif not instruction.is_ip_rel_memory_operand:
                continue
            elif flow in (INDIRECT_CALL, INDIRECT_BRANCH):
                slot = instruction.ip_rel_memory_address
                landing = self._follow(slot)
                if landing:
                    yield instruction.ip, "call", landing
                if self._slot_name(slot) in AT_EXIT and taken:
                    yield instruction.ip, "call", taken
            else:
                target = instruction.ip_rel_memory_address
                address = target if instruction.mnemonic == iced_x86.Mnemonic.LEA else self._follow(target)
                section = self.elf.section_at(address) if address else None
                if section is not None and section.executable:
                    taken = address
                elif address:
                    pointers[instruction.op0_register] = address
                    yield instruction.ip, "point", address
        if number + 1 < len(self.starts) and self.end(number) > self.starts[number + 1] == end:
            yield end, "call", end

    def selected(self) -> set[int]:
        """Return the functions that ifunc resolvers choose from: they run behind a check of the CPU."""
        found: set[int] = set()
        seen: set[int] = set()
        waiting = [self.at(address) for address in self.resolvers]
        while waiting:
            number = waiting.pop()
            if number < 0 or number in seen:
                continue
            seen.add(number)
            for instruction in self.decode(number):
                if instruction.is_ip_rel_memory_operand and instruction.flow_control == 0:
                    target = instruction.ip_rel_memory_address
                    if instruction.mnemonic != iced_x86.Mnemonic.LEA:
                        target = self._follow(target)
                elif instruction.mnemonic == iced_x86.Mnemonic.MOV and instruction.op_count == 2:
                    try:
                        target = instruction.immediate(1)
                    except ValueError:
                        continue
                else:
                    continue
                if target and (chosen := self.at(target)) >= 0 and self.starts[chosen] == target:
                    found.add(chosen)
        return found

    def object_at(self, address: int) -> str:
        """Return the name of the variable at an address, if the symbols tell."""
        table = self.elf.symbol_table
        if table is None:
            return ""
        for symbol in self.elf.symbols(table):
            if (
                symbol.kind in (e.STT_OBJECT, e.STT_TLS)
                and symbol.defined
                and symbol.address <= address < symbol.address + max(symbol.size, 1)
            ):
                return self.elf.name(table, symbol)
        return ""

    def bindable(self) -> Iterator[tuple[int, ElfSymbol, str]]:
        """Yield what other files may bind to: (function's number, symbol, why)."""
        binary = self.elf
        table = binary.symbol_table if binary.relocatable else binary.dynamic_table
        for symbol in binary.symbols(table):
            if symbol.kind not in (e.STT_FUNC, e.STT_NOTYPE) or not symbol.defined:
                continue
            if symbol.visibility not in (e.STV_DEFAULT, e.STV_PROTECTED):
                continue
            why = {e.STB_WEAK: "weak", e.STB_UNIQUE: "unique", e.STB_GLOBAL: "exported"}.get(symbol.binding)
            if binary.relocatable and why == "exported":
                continue  # every function of another object is
            number = self.at(symbol.address)
            if why and number >= 0 and self.starts[number] == symbol.address:
                yield number, symbol, why


def _pack(start: int, preference: int, size: int, number: int) -> int:
    return start << 68 | preference << 66 | min(size, SIZE) << 32 | number


def _is_common(raw: bytes, place: int) -> bool:
    """Return whether a CIE of .eh_frame has its functions' addresses relative to their own place, in 32 bits."""
    if not 0 <= place < len(raw):
        return False
    length = struct.unpack_from("<I", raw, place)[0]
    body = raw[place + 8 : place + 4 + length]
    augmentation, _, rest = body[1:].partition(b"\0")
    if not augmentation.startswith(b"z"):
        return False
    for _ in range(2):  # code and data alignment
        rest = rest[_leb(rest) :]
    rest = rest[1 if body[:1] == b"\1" else _leb(rest) :]  # return address register
    rest = rest[_leb(rest) :]  # length of what follows
    for letter in augmentation[1:].decode(errors="replace"):
        if letter == "R":
            return rest[:1] == b"\x1b"  # DW_EH_PE_pcrel | DW_EH_PE_sdata4
        if letter == "L":
            rest = rest[1:]
        elif letter == "P":
            rest = rest[1 + {0xB: 4, 0xC: 8, 0: 8, 3: 4, 4: 8}.get(rest[0] & 0xF, 4) :]
        elif letter != "S":
            return False
    return False


def _leb(raw: bytes) -> int:
    """Return the number of bytes of a LEB128 number."""
    return next((place + 1 for place, byte in enumerate(raw) if not byte & 0x80), len(raw))


def codes_of(raw: bytes, address: int) -> Codes:
    """Return the codes of the instructions in `raw`."""
    return frozenset(i.code for i in iced_x86.Decoder(64, raw, ip=address))
