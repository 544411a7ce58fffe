"""Entries of a Mach-O file's tables, decoded: sections and symbols."""

from __future__ import annotations

from typing import NamedTuple

from ..contents import Binding, Section, SymbolKind
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

    `relocations` are the file offset and the number of the section's relocations, and may be left out.

    Code finds the data of a `findable` section by a symbol such as ``section$start$__DATA$hooks``, or getsectiondata().
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
        """Whether other objects can refer to it."""
        return bool(self.type & m.N_EXT)

    @property
    def kind(self) -> int:
        """N_UNDF, N_ABS or N_SECT: it is undefined, absolute, or defined in a section."""
        return self.type & m.N_TYPE

    @property
    def common(self) -> bool:
        """Whether it is a common symbol: the linker reserves `value` bytes for it."""
        return self.kind == m.N_UNDF and self.external and self.value > 0

    @property
    def binding(self) -> Binding:
        """The rule by which a linker chooses among symbols of its name."""
        if not self.external:
            return Binding.LOCAL
        weak = m.N_WEAK_DEF if self.kind == m.N_SECT else m.N_WEAK_REF
        return Binding.WEAK if self.description & weak else Binding.GLOBAL


NULL = section_of(0, "", (0, 0, 0), 0)


def name_in_c(name: str) -> str:
    """Return a symbol's name in C, without the underscore that compilers put before it."""
    return name.removeprefix("_")


def kind_of(entry: Entry, section: Section) -> SymbolKind:
    """Return the kind of a symbol. `section` is the symbol's section, or NULL if it has none.

    Symbols of this format contain no kind. Labels that compilers make, such as `l_.str`, do not start with an
    underscore. On arm64, LLVM writes a label such as `ltmp0` at the start of each section.
    """
    if entry.name.startswith("ltmp"):
        return SymbolKind.SECTION
    if entry.common:
        return SymbolKind.COMMON
    if section.executable:
        return SymbolKind.FUNCTION if entry.name.startswith("_") else SymbolKind.LABEL
    # The symbol of a thread-local variable is at its descriptor. The initial value, in another section, is data.
    return SymbolKind.THREAD_DATA if section.flags & m.SECTION_TYPE == m.THREAD_LOCAL_VARIABLES else SymbolKind.DATA
