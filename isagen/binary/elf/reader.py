"""Reads ELF files: sections, symbols, relocations and unwind tables."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property
from struct import Struct

from ..contents import UNDEFINED, Binding, Relocation, Section, Symbol, SymbolKind
from ..reader import END, MORE_NAMES, NAMES, Binary, entries_of, numbers_of
from . import layout as e

LONGEST_NAME = 1 << 16
# The prefix of a sealed level's executable sections. Linkers define no __start_NAME for a NAME that starts with a dot.
CODE_SECTION = ".isa_text."
# Kinds and bindings of symbols, by the number in four bits of a symbol table's entry.
KINDS = tuple(SymbolKind(value) if value in set(SymbolKind) else SymbolKind.OTHER for value in range(16))
BINDINGS = tuple(Binding(value) if value in set(Binding) else Binding.OTHER for value in range(16))

WHEN_LOADED, AT_EXIT = "when loaded", "at exit"
# When the loader calls the functions of an array: by the start of the name of its section, and by the section's type.
# The name may end in a priority, such as .init_array.00101.
ARRAY_NAMES = {
    **dict.fromkeys((".preinit_array", ".init_array", ".ctors"), WHEN_LOADED),
    **dict.fromkeys((".fini_array", ".dtors"), AT_EXIT),
}
ARRAY_TYPES = {e.SHT_PREINIT_ARRAY: WHEN_LOADED, e.SHT_INIT_ARRAY: WHEN_LOADED, e.SHT_FINI_ARRAY: AT_EXIT}
# Sections in which the linker joins the parts from all objects into one function. The loader calls this function.
LOADER_FUNCTIONS = {".init": WHEN_LOADED, ".fini": AT_EXIT}
UNWINDING = ".eh_frame"
# Prefixes of writable sections to which only the loader writes: constants with addresses, and pointers for unwinding.
RELOCATED_ONLY = (".data.rel.ro", ".data.rel.local.DW.ref.", ".data.DW.ref.")
# Tables for unwinding the stack: their pointers do not count as data that leads to code, as only unwinders read them.
UNWIND_TABLES = (UNWINDING, ".gcc_except_table")
# Prefixes of the names that compilers, assemblers and libraries choose for sections. Other names come from attributes
# in sources.
COMMON_DATA = (
    *(".data", ".rodata", ".bss", ".tdata", ".tbss", ".ldata", ".lrodata", ".lbss", ".sdata", ".srodata", ".sbss"),
    *(*ARRAY_NAMES, UNWINDING, ".gcc_except_table", ".note", ".sframe", ".ARM.ex", ".got", ".toc", ".opd", ".jcr"),
    *(".tm_clone_table", ".stapsdt.base", ".gnu.linkonce"),
)


def section_of(index: int, name: str, address: int, header: tuple[int, ...]) -> Section:
    """Return the section with this header (`Layout`) at an `address`, which may differ from the header's.

    Code can find the data of a `findable` section by ``__start_NAME``, which linkers define if NAME is a C identifier,
    or by a symbol in a section that the linker places before or after this one.
    """
    _, kind, flags, _, offset, size, link, info, alignment, _ = header
    loaded, stored = bool(flags & e.SHF_ALLOC), kind not in (e.SHT_NULL, e.SHT_NOBITS)
    writable = bool(flags & e.SHF_WRITE)
    by_name = (when for start, when in ARRAY_NAMES.items() if name.startswith(start))
    return Section(
        index=index,
        name=name,
        address=address,
        offset=offset,
        size=size,
        stored=size if stored else 0,
        flags=flags,
        loaded=loaded,
        in_file=loaded and stored,
        executable=loaded and stored and bool(flags & e.SHF_EXECINSTR),
        writable=writable,
        constant=not writable or name.startswith(RELOCATED_ONLY),
        findable=loaded and not flags & e.SHF_EXECINSTR and not name.startswith(COMMON_DATA),
        unwinding=name.startswith(UNWIND_TABLES),
        noted=kind == e.SHT_NOTE or name.startswith(".note"),
        merged=bool(flags & e.SHF_GROUP),
        when_called=ARRAY_TYPES.get(kind, "") or next(by_name, ""),
        type=kind,
        link=link,
        info=info,
        alignment=alignment,
    )


class Elf(Binary):
    """The sections, symbols and relocations of an ELF file. Symbols are not cached: a library may have millions."""

    format = "elf"
    unreadable = "is not an ELF file that can be read: "
    code_and_constants = (
        *(".text", ".rodata", ".data.rel.ro", ".data.rel.local.DW", ".data.DW", *UNWIND_TABLES),
        *(".note.gnu.property", ".note.GNU-stack", ".ARM.exidx", ".ARM.extab", ".srodata", ".sframe"),
    )
    comdat_flag = e.SHF_GROUP
    architecture_of = staticmethod(e.architecture_of)
    sections: tuple[Section, ...]

    @staticmethod
    def starts(head: bytes) -> bool:
        return head.startswith(e.MAGIC)

    def _read(self) -> None:
        layout = e.layout_of(self.data[:6])
        if layout is None:
            raise self.fail("its word size or byte order is unknown")
        self.layout, self.word, self.byteorder = layout, layout.word, layout.byteorder
        raw = self.data[: layout.header.size]
        if len(raw) < layout.header.size:
            raise self.fail("its header is cut off")
        _, kind, self.machine, _, _, _, table, _, _, _, _, entry, count, names = layout.header.unpack(raw)
        self.relocatable = kind == e.ET_REL
        self.fixed = kind == e.ET_EXEC
        if not table:
            raise self.fail("it has no section headers, which show where code is", "audit what the linker wrote")
        first = self.data[table : table + layout.section.size]
        if entry != layout.section.size or len(first) < entry:
            raise self.fail("its section headers are cut off or of an unknown size")
        # The header of section 0 contains the numbers that are too large for the file's header.
        count = count or layout.section.unpack(first)[5]
        names = layout.section.unpack(first)[6] if names == e.SHN_XINDEX else names
        if table + entry * count > len(self.data) or names >= count:
            raise self.fail("its section headers are cut off")
        self.headers_at: int = table
        self.names_section: int = names
        headers = list(layout.section.iter_unpack(self.data[table : table + entry * count]))
        _, kind, _, _, start_of_names, size, _, _, _, _ = headers[names]
        strings = self.data[start_of_names : start_of_names + size] if names and kind != e.SHT_NOBITS else b""
        self.sections = tuple(self._sections(headers, strings))
        code_sections = (s.name for s in self.sections if s.size and s.name.startswith(CODE_SECTION))
        self.levels = frozenset(name.removeprefix(CODE_SECTION) for name in code_sections)
        self.stripped = self.full_table is None
        # `objcopy --only-keep-debug` leaves the headers of sections of code, without contents.
        described = any(s.flags & e.SHF_EXECINSTR for s in self.sections if s.size)
        self.debug_only = described and not any(section.executable for section in self.sections)

    def _sections(self, headers: list[tuple[int, ...]], strings: bytes) -> Iterator[Section]:
        free = 0x1000
        for index, header in enumerate(headers):
            name, kind, flags, address, offset, size, link, info, align, _ = header
            if self.relocatable and flags & e.SHF_ALLOC:
                address = -(-free // max(align, 1)) * max(align, 1)
                free = address + size
            end = strings.find(b"\0", name)
            shown = strings[name : end if end >= 0 else len(strings)][:LONGEST_NAME].decode(errors="surrogateescape")
            if kind not in (e.SHT_NULL, e.SHT_NOBITS) and offset + size > len(self.data):
                raise self.fail(f"section {shown or index} is cut off")
            if flags & e.SHF_ALLOC and address + size > END:
                raise self.fail(f"section {shown or index} is at an address that no process has")
            relocates = kind in (e.SHT_RELA, e.SHT_REL)
            if kind in e.UNREAD_RELOCATIONS or (relocates and self.data[offset : offset + 4] == e.PACKED):
                raise self.fail(f"section {shown or index} contains relocations in a form that is not read")
            missing = link >= len(headers) or (relocates and self.relocatable and info >= len(headers))
            if missing and (relocates or kind in (e.SHT_SYMTAB, e.SHT_DYNSYM)):
                raise self.fail(f"section {shown or index} is linked to one that is not there")
            yield section_of(index, shown, address, header)

    def _has_addresses(self, section: Section) -> bool:
        of_others = not section.in_file and section.flags & e.SHF_TLS  # .tbss has the addresses of the next section
        return super()._has_addresses(section) and not of_others

    def level_at(self, address: int) -> str:
        section = self.section_at(address)
        if section is None or not section.executable or not section.name.startswith(CODE_SECTION):
            return ""
        return section.name.removeprefix(CODE_SECTION)

    # ---- symbols

    @cached_property
    def full_table(self) -> Section | None:
        """The full symbol table; None in a stripped file."""
        return next((s for s in self.sections if s.type == e.SHT_SYMTAB), None)

    @cached_property
    def dynamic_table(self) -> Section | None:
        """The table of the symbols that bind the file to other files; None in a file without one, such as an object."""
        return next((s for s in self.sections if s.type == e.SHT_DYNSYM), None)

    @property
    def symbol_table(self) -> Section | None:
        return self.full_table or self.dynamic_table

    def symbols(self) -> Iterator[Symbol]:
        return self.symbols_of(self.symbol_table)

    def exports(self) -> Iterator[Symbol]:
        return self.symbols_of(self.full_table if self.relocatable else self.dynamic_table)

    def symbols_of(self, table: Section | None, first: int = 0) -> Iterator[Symbol]:
        if table is None:
            return
        size, left = self.layout.symbol.size, NAMES * self.sections[table.link].size + MORE_NAMES
        raw = self.content(table)[first * size :]
        for number, values in enumerate(entries_of(self.layout.symbol, raw), first):
            symbol = self._symbol(table, number, values)
            left -= len(symbol.name)
            if left < 0:
                raise self.fail("its names are too long")
            yield symbol

    def symbol(self, number: int) -> Symbol:
        return self.symbol_of(self.symbol_table, number)

    def symbol_of(self, table: Section | None, number: int) -> Symbol:
        size = self.layout.symbol.size
        if table is None or (number + 1) * size > table.stored:
            return UNDEFINED
        return self._symbol(table, number, self.layout.symbol.unpack_from(self.data, table.offset + number * size))

    def _symbol(self, table: Section, number: int, values: tuple[int, ...]) -> Symbol:
        if self.layout.wide:
            name, info, other, section, value, size = values
        else:
            name, value, size, info, other, section = values
        definition, is_common = section != e.SHN_UNDEF, section == e.SHN_COMMON
        if section == e.SHN_XINDEX:
            long = self._long_indexes.get(table.index, ())
            section = long[number] if number < len(long) else e.SHN_UNDEF
        elif section >= e.SHN_LORESERVE:
            section = e.SHN_UNDEF  # absolute or common
        if section >= len(self.sections):
            section = e.SHN_UNDEF
        if self.relocatable and section != e.SHN_UNDEF:
            value = (value + self.sections[section].address) % (1 << 64)
        kind, binding = SymbolKind.COMMON if is_common else KINDS[info & 15], BINDINGS[info >> 4]
        hidden = other & 3 in (e.STV_INTERNAL, e.STV_HIDDEN)
        return Symbol(number, self._name(table, name), kind, binding, section, value, size, definition, hidden)

    def _name(self, table: Section, offset: int) -> str:
        strings = self.sections[table.link]
        start = strings.offset + offset
        end = self.data.find(b"\0", start, strings.offset + strings.stored) if offset else start
        if end < 0:
            raise self.fail("the name of a symbol has no end")
        return self.data[start:end].decode(errors="surrogateescape")

    @cached_property
    def _long_indexes(self) -> dict[int, array[int]]:
        """Section indexes of symbols whose own 16-bit field is too small, by the symbol table's index."""
        tables = (s for s in self.sections if s.type == e.SHT_SYMTAB_SHNDX)
        return {s.link: numbers_of("I", self.content(s), self.byteorder) for s in tables}

    # ---- relocations

    @cached_property
    def _tables(self) -> dict[int, list[Section]]:
        """The sections of relocations, by the index of the section to which they apply."""
        tables: dict[int, list[Section]] = {}
        for section in self.sections:
            if section.type in (e.SHT_RELA, e.SHT_REL):
                tables.setdefault(section.info, []).append(section)
        return tables

    def _relocations_of(self, section: Section) -> Iterator[Relocation]:
        for table in self._tables.get(section.index, ()):
            yield from self.relocations_in(table)

    def relocations_in(self, table: Section) -> Iterator[Relocation]:
        """If the entries contain no addends (SHT_REL), the relocated places contain them.

        Such entries occur on some processors, and lld writes them with `-z rel`.
        """
        with_addend = table.type == e.SHT_RELA
        form = self.layout.relocation_with_addend if with_addend else self.layout.relocation
        shift = self.layout.symbol_shift
        kinds = (1 << shift) - 1
        swapped = self.machine == e.EM_MIPS and self.layout.wide and self.byteorder == "little"
        start = self.sections[table.info].address if self.relocatable else 0
        raw = self.content(table)
        for offset, info, *addend in entries_of(form, raw):
            if swapped:  # the ABI of 64-bit MIPS writes the symbol before the type in both byte orders
                info = (info & 0xFFFFFFFF) << 32 | info >> 32
            value = addend[0] if with_addend else self.word_at(start + offset, signed=self.relocatable)
            yield Relocation(start + offset, info & kinds, info >> shift & 0xFFFFFFFF, value)

    # ---- unwind tables

    def unwind_table_functions(self) -> Iterator[tuple[int, int]]:
        """Yield (address, size in bytes) of the functions in .eh_frame (LSB, "Exception Frames"; DWARF 4, 6.4.1).

        Each record (FDE) is read as if it had the form that compilers write: with a 32-bit distance to the function,
        and a size. Records that lead outside of code are skipped.
        """
        table = next((s for s in self.sections if s.name == UNWINDING), None)
        if table is None or not table.in_file or self.relocatable:
            return
        raw, place, form = self.content(table), 0, Struct(self.layout.order + "IIiI")
        while place + form.size <= len(raw):
            length, common, distance, size = form.unpack_from(raw, place)
            start = table.address + place + 8 + distance
            section = self.section_at(start) if common and size else None
            if section is not None and section.executable and start + size <= section.address + section.size:
                yield start, size
            place += 4 + length
