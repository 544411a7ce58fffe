"""What lief finds in Mach-O files: symbols, sections, exports, initialisers. Sealing does not use it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

lief = pytest.importorskip("lief")
lief.logging.disable()

# n_type and n_desc, by the names of mach-o/nlist.h.
N_STAB, N_PEXT, N_TYPE, N_EXT = 0xE0, 0x10, 0x0E, 0x01
N_UNDF, N_ABS, N_SECT = 0x0, 0x2, 0xE
OF_ALL = {0x20: "N_NO_DEAD_STRIP", 0x40: "N_WEAK_REF", 0x80: "N_WEAK_DEF"}
OF_DEFINED = {**OF_ALL, 0x100: "N_SYMBOL_RESOLVER", 0x200: "N_ALT_ENTRY"}  # elsewhere the number of a library
CPU_TYPES = {"x86_64": 0x01000007, "aarch64": 0x0100000C}


@dataclass(frozen=True)
class Symbol:
    """An entry of the symbol table: its section, such as `__TEXT,__text`, or ""; `description` are bits of `n_desc`."""

    name: str
    section: str
    address: int
    external: bool
    private: bool
    undefined: bool
    description: frozenset[str]


@dataclass(frozen=True)
class Section:
    """A section: its type, such as `REGULAR`, and its attributes, such as `PURE_INSTRUCTIONS`, by lief's names."""

    name: str
    type: str
    attributes: frozenset[str]
    address: int
    content: bytes


@dataclass(frozen=True)
class Facts:
    """A Mach-O file for one processor, or that part of a universal one."""

    symbols: Sequence[Symbol]
    sections: Sequence[Section]
    exports: frozenset[str]
    weak_exports: frozenset[str]
    libraries: Sequence[str]

    def symbol(self, name: str) -> Symbol:
        """Return the only symbol of a name."""
        (found,) = [symbol for symbol in self.symbols if symbol.name == name]
        return found

    def initialisers(self) -> list[str]:
        """Return the symbols of the functions that an image runs when it is loaded, in order."""
        names = {symbol.address: symbol.name for symbol in self.symbols if symbol.section}
        content = b"".join(section.content for section in self.sections if section.type == "MOD_INIT_FUNC_POINTERS")
        return [names[int.from_bytes(content[i : i + 8], "little")] for i in range(0, len(content), 8)]


def facts(path: Path, family: str = "") -> Facts:
    """Read a file; of a universal one, the part of a family of processors, as Meson calls it."""
    file = lief.MachO.parse(str(path))  # lief crashes if it goes away before its parts
    assert file is not None, f"{path}: lief reads no Mach-O"
    parts = [part for part in file if not family or part.header.cpu_type.value == CPU_TYPES[family]]
    assert len(parts) == 1, f"{path}: parts for {len(parts)} processors"
    part = parts[0]
    sections = list(part.sections)
    exports = list(part.dyld_info.exports) if part.has_dyld_info else []
    return Facts(
        symbols=[_symbol(symbol, sections) for symbol in part.symbols if _in_table(symbol)],
        sections=[
            Section(
                _name(section),
                section.type.name,
                frozenset(flag.name for flag in section.flags_list),
                section.virtual_address,
                bytes(section.content),
            )
            for section in sections
        ],
        exports=frozenset(str(export.symbol.name) for export in exports),
        weak_exports=frozenset(str(export.symbol.name) for export in exports if export.flags & 4),
        libraries=[library.name for library in part.libraries],
    )


def _in_table(symbol) -> bool:
    """Whether the symbol table has it, and not only the binds or exports, and it is none of the debugger's."""
    return symbol.origin == lief.MachO.Symbol.ORIGIN.SYMTAB and not symbol.raw_type & N_STAB


def _symbol(symbol, sections) -> Symbol:
    kind = symbol.raw_type & N_TYPE
    bits = OF_ALL if kind == N_UNDF else OF_DEFINED
    return Symbol(
        name=str(symbol.name),
        section=_name(sections[symbol.numberof_sections - 1]) if kind == N_SECT else "",
        address=symbol.value,
        external=bool(symbol.raw_type & N_EXT),
        private=bool(symbol.raw_type & N_PEXT),
        undefined=kind == N_UNDF,
        description=frozenset(name for bit, name in bits.items() if symbol.description & bit),
    )


def _name(section) -> str:
    return f"{section.segment_name},{section.name}"
