"""Reads the compiler flags of levels, and joins those of several levels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..model.errors import IsagenError, TableError
from ..model.toml import Section

DIALECTS = ("gnu", "msvc")  # the spellings of flags: by GCC and Clang, and by cl
WITH_VALUE = ("--param", "-Xarch_host", "-Xassembler", "-Xclang", "-Xlinker", "-Xpreprocessor", "-include", "-mllvm")
# Options of which only the last one counts: -march=A and -march=B, /arch:A and /arch:B.
ONE_VALUE = re.compile(r"-m[a-z0-9-]+=|[-/]arch:")


def compiler_family(compiler: str) -> str:
    """Return the name of a compiler in tables; `compiler` is its id in Meson. clang-cl is a Clang."""
    return {"clang-cl": "clang"}.get(compiler, compiler)


def read_flags(entry: Section, key: str) -> Mapping[str, tuple[str, ...]]:
    """Read flags of a level, by dialect."""
    section = entry.section(key)
    flags = {dialect: section.strings(dialect) for dialect in DIALECTS if dialect in section}
    for dialect, values in flags.items():
        for flag in values:
            reject_flag(flag, section.where(dialect), TableError)
    section.finish()
    return flags


def joined(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the flags of all lists. Only the last of equal flags stays, and the last of each option of ONE_VALUE."""
    flags: dict[str, tuple[str, ...]] = {}
    for words in lists:
        for flag in flags_in(words):
            value = ONE_VALUE.match(flag[0])
            key = value[0] if value else " ".join(flag)
            flags.pop(key, None)
            flags[key] = flag
    return tuple(word for flag in flags.values() for word in flag)


def flags_in(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield each flag, with the next word if that is its value."""
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in WITH_VALUE else None
        yield (word,) if value is None else (word, value)


def reject_flag(flag: str, where: str, error: type[IsagenError]) -> None:
    """Raise `error` for a flag that makes the build depend on the building machine's CPU, and for a flag of LTO.

    With LTO, the compiler writes no machine code that could be sealed.
    """
    if re.match(r"-m(arch|cpu|tune)=native\Z|[-/]Qx[Hh]ost\Z|-xHost\Z", flag):
        raise error(
            f"{flag} would build for the CPU of this machine",
            where=where,
            remedy="name the instruction sets instead; what a level compiles must not depend on who builds it",
        )
    if re.match(r"-flto(=|\Z)|[-/]GL\Z", flag):
        raise error(
            f"{flag} asks for link-time optimisation, which would merge code of different levels",
            where=where,
            remedy="take it out: kernels are compiled without it; -Db_lto=true applies it to everything else",
        )
