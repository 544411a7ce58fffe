"""Reads Mach-O files: load commands, sections, symbols and relocations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from ..contents import Binding, Relocation, Section, Symbol, SymbolKind
from ..reader import Binary
from . import layout as m

DEBUGGING, UNWINDING = ("__DWARF", "__LD"), ("__eh_frame", "__compact_unwind", "__unwind_info")
# The segments and sections that the program never writes to. The loader may write to them, to relocate them.
CONSTANT_SEGMENTS, CONSTANT = ("__TEXT", "__DATA_CONST"), ("__const", "__cfstring", "__got")
# Prefixes of the sections that compilers, and LLVM's profiles and sanitizers, use without an attribute in the source.
COMMON_DATA = (
    *("__data", "__bss", "__common", "__const", "__cstring", "__ustring", "__literal", "__cfstring", "__objc"),
    *("__mod_init_func", "__mod_term_func", "__init_offsets", "__thread_", "__gcc_except_tab", *UNWINDING),
    *("__isagen", "__llvm_", "__sancov_", "__asan_", "__got", "__la_symbol_ptr", "__nl_symbol_ptr"),
)


def section_of(index: int, name: str, place: tuple[int, int, int], flags: int, *relocations: int) -> Section:
    """Return a section; `name` is SEGMENT,NAME, and `place` the section's address, file offset and size.

    For an object, `relocations` are the file offset and the number of the section's relocations. Code can find the data
    of a `findable` section by a symbol such as ``section$start$__DATA$hooks``, or by getsectiondata().
    """
    segment, _, own_name = name.partition(",")
    loaded = index > 0 and segment not in DEBUGGING
    is_zero = flags & m.SECTION_TYPE in m.ZERO_FILLED
    executable = loaded and not is_zero and bool(flags & (m.ATTR_PURE_INSTRUCTIONS | m.ATTR_SOME_INSTRUCTIONS))
    constant = segment in CONSTANT_SEGMENTS or own_name in CONSTANT
    return Section(
        index,
        name,
        *place,
        0 if is_zero else place[2],
        flags,
        loaded=loaded,
        in_file=loaded and not is_zero,
        executable=executable,
        writable=loaded and not constant,
        constant=constant,
        findable=loaded and not executable and not own_name.startswith(COMMON_DATA),
        unwinding=own_name in UNWINDING,
        noted=own_name == "__isagen",
        when_called=m.CALLED.get(flags & m.SECTION_TYPE, ""),
        relocations_at=relocations[0] if relocations else 0,
        relocations_end=relocations[0] + relocations[1] * m.RELOCATION.size if relocations else 0,
    )


class Entry(NamedTuple):
    """An entry of the symbol table."""

    number: int
    name: str
    type: int
    section: int
    description: int
    value: int

    @property
    def external(self) -> bool:
        return bool(self.type & m.N_EXT)

    @property
    def kind(self) -> int:
        """N_SECT for a symbol in a section, N_ABS for an absolute one, N_UNDF for an undefined or a common one."""
        return self.type & m.N_TYPE

    @property
    def common(self) -> bool:
        """Whether it is a common symbol: the linker reserves `value` bytes for it."""
        return self.kind == m.N_UNDF and self.external and self.value > 0

    @property
    def binding(self) -> Binding:
        if not self.external:
            return Binding.LOCAL
        weak = m.N_WEAK_DEF if self.kind == m.N_SECT else m.N_WEAK_REF
        return Binding.WEAK if self.description & weak else Binding.GLOBAL

    def symbol(self, section: Section, size: int = 0) -> Symbol:
        """Return the entry's symbol. `section` is the symbol's section, or NULL if it has none."""
        address = self.value if self.kind in (m.N_ABS, m.N_SECT) else 0
        place = section.index, address, size
        definition = self.kind != m.N_UNDF or self.common
        hidden = bool(self.type & m.N_PEXT)  # linkers make such symbols local, and keep the mark
        kind = self._symbol_kind(section)
        return Symbol(self.number, name_in_c(self.name), kind, self.binding, *place, definition, hidden)

    def _symbol_kind(self, section: Section) -> SymbolKind:
        """Labels that compilers make, such as `l_.str`, do not start with an underscore.

        On arm64, LLVM writes a label such as `ltmp0` at the start of each section.
        """
        if self.name.startswith("ltmp"):
            return SymbolKind.SECTION
        if self.common:
            return SymbolKind.COMMON
        if section.executable:
            return SymbolKind.FUNCTION if self.name.startswith("_") else SymbolKind.LABEL
        # The symbol of a thread-local variable is at its descriptor. The initial value, in another section, is data.
        return SymbolKind.THREAD_DATA if section.flags & m.SECTION_TYPE == m.THREAD_LOCAL_VARIABLES else SymbolKind.DATA


NULL = section_of(0, "", (0, 0, 0), 0)


def name_in_c(name: str) -> str:
    """Return a symbol's name in C, without the underscore that compilers put before it."""
    return name.removeprefix("_")


class Macho(Binary):
    """A Mach-O object.

    Some relocations refer to a section and not to a symbol. For these, `symbols` contains a symbol for each section,
    with a number above those of the symbol table.
    """

    format = "macho"
    unreadable = "is not a Mach-O object that can be read: "
    sections: tuple[Section, ...]
    starts = staticmethod(partial(m.is_macho, kinds=(m.OBJECT,)))
    architecture_of = staticmethod(m.architecture_of)

    def _read(self) -> None:
        self.symbols_at = self.symbol_count = self.names_at = self.names_end = 0
        self.sections = (NULL, *self._sections())
        if self.relocatable:
            commands = 0, max((place + size for _, place, size in self.commands()), default=0)
            symbols = self.symbols_at, self.symbols_at + self.symbol_count * m.SYMBOL.size
            self.require_apart(commands, symbols, (self.names_at, self.names_end))
        self._symbols = {symbol.number: symbol for symbol in self._decoded()}

    def commands(self) -> Iterator[tuple[int, int, int]]:
        """Yield the number, offset and size of each load command."""
        _, _, _, _, count, _, _, _ = m.HEADER.unpack_from(self.data)
        place = m.HEADER.size
        for _ in range(count):
            number, size = m.COMMAND.unpack_from(self.data, place)
            if size < m.COMMAND.size or place + size > len(self.data):
                raise self.fail("its load commands are cut off")
            yield number, place, size
            place += size

    def _sections(self) -> Iterator[Section]:
        index = 0
        for number, place, size in self.commands():
            if number == m.SYMTAB:
                self._find_symbols(place)
            elif number == m.SEGMENT_64:
                *_, count, _ = m.SEGMENT.unpack_from(self.data, place)
                first = place + m.SEGMENT.size
                if first + count * m.SECTION.size > place + size:
                    raise self.fail("its sections are cut off")
                for header in range(first, first + count * m.SECTION.size, m.SECTION.size):
                    index += 1
                    yield self._section(index, header)

    def _section(self, index: int, place: int) -> Section:
        raw, segment, address, size, offset, _, relocations, count, flags, *_ = m.SECTION.unpack_from(self.data, place)
        name = b",".join(text.rstrip(b"\0") for text in (segment, raw)).decode(errors="surrogateescape")
        section = section_of(index, name, (address, offset, size), flags, relocations, count)
        if section.stored and offset + size > len(self.data):
            raise self.fail(f"section {section.name} is cut off")
        if relocations + count * m.RELOCATION.size > len(self.data):
            raise self.fail(f"the relocations of section {section.name} are cut off")
        return section

    def _find_symbols(self, place: int) -> None:
        *_, self.symbols_at, self.symbol_count, self.names_at, size = m.SYMBOL_TABLE.unpack_from(self.data, place)
        self.symbol_command, self.names_end = place, self.names_at + size
        if max(self.symbols_at + self.symbol_count * m.SYMBOL.size, self.names_end) > len(self.data):
            raise self.fail("its symbol table is cut off")

    def _entries(self) -> Iterator[Entry]:
        """Yield the entries of the symbol table, except those for debuggers."""
        for number in range(self.symbol_count):
            name, kind, section, *rest = m.SYMBOL.unpack_from(self.data, self.symbols_at + number * m.SYMBOL.size)
            if kind & m.N_STAB:
                continue
            if kind & m.N_TYPE != m.N_SECT:
                section = 0
            elif not 0 < section < len(self.sections):
                raise self.fail(f"symbol {number} is in a section that is not there")
            yield Entry(number, self._string(name), kind, section, *rest)

    def _string(self, offset: int) -> str:
        end = self.data.find(b"\0", self.names_at + offset, self.names_end)
        if end < 0:
            raise self.fail("a name is not in the table of names")
        return self.counted(self.data[self.names_at + offset : end].decode(errors="surrogateescape"))

    def _decoded(self) -> Iterator[Symbol]:
        entries = list(self._entries())
        starts: dict[int, set[int]] = {}
        for entry in entries:
            if entry.section:
                section = self.sections[entry.section]
                if not 0 <= entry.value - section.address <= section.size:
                    raise self.fail(f"symbol {entry.name} is outside of its section")
                starts.setdefault(entry.section, set()).add(entry.value)
        ends = {
            (index, start): end
            for index, values in starts.items()
            for start, end in pairwise([*sorted(values), self.sections[index].address + self.sections[index].size])
        }
        for entry in entries:
            end = ends.get((entry.section, entry.value), entry.value)
            yield entry.symbol(self.sections[entry.section], entry.value if entry.common else end - entry.value)
        for section in self.sections[1:]:
            number = self.symbol_count + section.index
            yield Symbol(
                number, "", SymbolKind.SECTION, Binding.LOCAL, section.index, section.address, section.size, True
            )

    def _relocations_of(self, section: Section) -> Iterator[Relocation]:
        raw = self.data[section.relocations_at : section.relocations_end]
        content, added = self.content(section), 0
        for offset, fields in m.RELOCATION.iter_unpack(raw):
            number, length, external, kind = fields & 0xFFFFFF, fields >> 25 & 3, fields >> 27 & 1, fields >> 28
            if kind == m.ADDEND.get(self.machine):
                added = (number ^ 0x800000) - 0x800000  # a signed number of 24 bits
                continue
            if offset < 0 or offset >= max(section.size, 1) or (external and number >= self.symbol_count):
                raise self.fail(f"a relocation of section {section.name} is damaged")
            if not external and number >= len(self.sections):
                raise self.fail(f"a relocation of section {section.name} is for a section that is not there")
            place = section.address + offset
            addend = 0
            if kind != m.SUBTRACTOR[self.machine] and (length == 3 or kind in (0, *m.FROM_END[self.machine])):
                addend = int.from_bytes(content[offset : offset + (1 << length)], "little", signed=True)
            addend, added = addend + added, 0
            if kind in m.FROM_END[self.machine]:
                addend += -4 if external else place
            if not external:
                addend -= self.sections[number].address
            yield Relocation(place, kind, number if external else self.symbol_count + number, addend)
