"""Chooses the table of a build, its limit (why only the lowest level is built), and how its levels are sealed.

isagen can seal and audit only objects whose format it reads, and its tables list the options and macros of certain
compilers only. For other objects or compilers, only the lowest level is built.
"""

from __future__ import annotations

import posixpath
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..binary.formats import FORMATS, format_names, format_under, known_systems
from ..model.languages import language_of
from ..model.plan import Limit, Sealing
from ..planning.config import DEFAULT_TABLE, Config
from ..planning.kernels import matches
from ..probe.compiler import Compiler
from ..processors.flags import flags_in
from ..processors.registry import builtin_tables, family_under, processor_names, processor_of_family
from ..processors.table import Table, load_table, other_levels

UNLISTED = "it does not list its macros (-dM -E)"


def choose_table(name: str, cpu_family: str, folder: Path, where: str) -> tuple[Table, str]:
    """Return the table `name`, and the reason if isagen has only the lowest level to offer; "" if it has more.

    If the table `name` is for another architecture, return its counterpart for `cpu_family`, such as aten-arm64 for
    aten; if there is no counterpart, return the default table with only its lowest level. A `name` may be a path,
    relative to `folder`; the counterpart of own.toml is own-arm64.toml in the same folder.
    """
    default = load_table(processor_of_family(cpu_family).name, folder, where)
    shown = "32-bit x86" if cpu_family == "x86" else cpu_family
    reason = "" if len(default.levels) > 1 else f"isagen has no levels for {shown}"
    if name == DEFAULT_TABLE:
        return replace(default, other_levels=other_levels()), reason
    named, *others = (load_table(one, folder, where) for one in (name, *_namesakes(name, folder)))
    names = frozenset(level for table in (named, *others) for level in table.names())
    for table in (named, *others):
        if table.features.processor.cpu_family in ("", cpu_family):
            files = named.files if table is named else (*table.files, *named.files)
            return replace(table, files=files, other_levels=names), reason if len(table.levels) == 1 else ""
    processor = named.features.processor
    reason = f"table {named.name} is for {processor.cpu_family}, and this build is for {cpu_family}"
    files, lowest = (*named.files, *default.files), default.levels[:1]
    return replace(
        default, levels=lowest, override=named.override, files=files, other_levels=other_levels(names)
    ), reason


def _namesakes(name: str, folder: Path) -> list[str]:
    """Return the names of tables, such as aten-arm64, that replace the table `name` on another processor."""
    stem, end = posixpath.splitext(name)
    there = [f"{stem}-{processor}{end}" for processor in processor_names()]
    return [one for one in there if one in builtin_tables() or (end and (folder / one).is_file())]


def limit_of(
    system: str | None, compilers: Iterable[Compiler], no_table: str = "", whole_module: bool = False
) -> Limit:
    """Return the limit of a build with `compilers` for Meson's `system`.

    `system` is None if only compilers are known. `no_table` is the reason that `choose_table` returns.
    """
    compilers = [compiler for compiler in compilers if compiler.language != "fortran"]
    for compiler in compilers:
        if not compiler.known:
            no_baseline = "" if compiler.baseline_macros else f", nor its baseline, as {UNLISTED}"
            return Limit(f"isagen does not know the compiler {compiler.name}{no_baseline}", opaque=True, foreign=True)
    known = system is None or system in known_systems()
    silent = next((one for one in compilers if one.dialect == "msvc"), None)
    if silent and known:
        shown = "which would show its baseline and the features that flags turn on"
        return Limit(f"{silent.name} does not list its macros, {shown}", opaque=True)
    unread = next((one for one in compilers if not _is_read(one, system if known else None)), None)
    if unread:
        whose = f"of {unread.name}" if known else f"for {system}"
        no_baseline = "" if unread.baseline_macros else f"; the baseline of {unread.name} is unknown, as {UNLISTED}"
        return Limit(f"objects {whose} are not {format_names()}, which isagen reads{no_baseline}", opaque=True)
    if not known:
        return Limit(f"isagen does not know the system {system}", opaque=True)
    if whole_module and any(format_under(one.baseline_macros) is not FORMATS[0] for one in compilers):
        return Limit(f"whole modules have levels only where objects are {FORMATS[0].shown}", opaque=True)
    for compiler in compilers:
        args = required_args(compiler)
        if args and not compiler.accepts(args).ok:
            reason = f"{compiler.name} refuses {' '.join(args)}, without which its code for wide vectors is wrong"
            return Limit(reason, opaque=True)
    return Limit(no_table)


def _is_read(compiler: Compiler, system: str | None) -> bool:
    written = format_under(compiler.baseline_macros)
    return written is not None and (system is None or system in written.systems)


def required_args(compiler: Compiler) -> tuple[str, ...]:
    """Return the options without which the compiler's code for the levels is wrong."""
    written = format_under(compiler.baseline_macros) if compiler.id == "gcc" else None
    return tuple(written.gcc_args) if written is not None else ()


def without_refused_args(
    config: Config, kernels: Iterable[str], compilers: Iterable[Compiler], limit: Limit
) -> tuple[Config, list[str]]:
    """Return the configuration without the `args` that a compiler of `kernels` refuses, and warnings about them.

    Nothing is removed if every level is tried, that is, if the `limit` has no reason.
    """
    by_language = {compiler.language: compiler for compiler in compilers}
    entries, warnings = dict(config.kernels), []
    for key, entry in config.kernels.items() if limit.reason else ():
        languages = dict.fromkeys(language_of(kernel) for kernel in kernels if key == kernel or matches(key, kernel))
        args = entry.args or ()
        for compiler in (by_language[language] for language in languages):
            refused = (
                [] if compiler.compiles(args) else [flag for flag in flags_in(args) if not compiler.compiles(flag)]
            )
            args = tuple(word for flag in flags_in(args) if flag not in refused for word in flag)
            if shown := " ".join(word for flag in refused for word in flag):
                warnings.append(
                    f"isagen: {config.shown}: kernels.{key!r}.args: {shown} is left out: {compiler.name} refuses it"
                )
        entries[key] = replace(entry, args=args if entry.args is not None else None)
    return replace(config, kernels=entries), warnings


def family_of(compilers: Iterable[Compiler], otherwise: str) -> str:
    """Return Meson's name of the architecture that `compilers` generate code for; `otherwise` if it is unknown.

    It may differ from the architecture that Meson reports: with -m32, x86-64 becomes x86.
    """
    return next(filter(None, (family_under(compiler.baseline_macros) for compiler in compilers)), otherwise)


def limits_of(compiler: Compiler, table: str, folder: Path, where: str) -> tuple[Table, Limit]:
    """Return the table and the limit of a build with `compiler`, whose macros determine the architecture."""
    family = family_of([compiler], "the processor of this compiler")
    chosen, reason = choose_table(table, family, folder, where)
    return chosen, limit_of(None, [compiler], reason)


def sealing_of(suffix: str, wanted: bool, limit: Limit, fold: bool) -> Sealing:
    """Return how the levels of a set of kernels are sealed.

    The `suffix` of the set's symbols is unique in a program. With `fold`, equal copies are linked once.
    """
    if not wanted:
        return Sealing(reason="switched off by the Meson option isa_seal")
    if limit.opaque:
        return Sealing(reason="isagen does not read objects of this build, and they are of one level")
    # Private names end in this number, not in the suffix itself: demanglers accept an ending of digits.
    return Sealing(project_number=str(zlib.crc32(suffix.encode())), fold=fold)
