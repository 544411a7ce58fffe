"""The tables of the page tables.md, written from the TOML of isagen's processors when the site is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from isagen.processors.features import Feature, Features, State, read_features
from isagen.processors.registry import PROCESSORS, builtin_tables
from isagen.processors.sources import Condition
from isagen.processors.table import Level, Table, load_table

EMPTY = "-"
FLAGS = {"gnu": "GCC, Clang", "msvc": "MSVC"}


def levels() -> str:
    """Return a section for each table that comes with isagen: its levels, and the flags that they are compiled with."""
    return "\n".join(_table(load_table(name, Path())) for name in builtin_tables())


def features() -> str:
    """Return a section for each processor that has features: their detection, and the macros that stand for them."""
    found = (read_features(processor.name) for processor in PROCESSORS)
    return "\n".join(_processor(one) for one in found if one.features)


def _table(table: Table) -> str:
    families = [one.cpu_family for one in PROCESSORS if one.name == table.name and one.cpu_family]
    override = f"The override is {_code([table.override])}." if table.override else ""
    default = f"The default table on {_code(families)}." if families else ""
    columns = [family for family in FLAGS if any(level.flags.get(family) for level in table.levels)]
    heads = ("level", *(f"all flags of {FLAGS[family]}" for family in columns), "macros")
    parts = (
        f"### Table {table.name}\n",
        f"{default} {override}\n".lstrip(),
        _rows(
            ("level", "rank", "requires", "features that it adds", "vector bits", "oldest compilers"),
            (_level(level) for level in table.levels),
        ),
        _rows(heads, (_flags(table, level, columns) for level in table.levels)),
    )
    return "\n".join(parts)


def _level(level: Level) -> tuple[str, ...]:
    minimum = ", ".join(f"{compiler} {version}" for compiler, version in level.minimum.items())
    requires, adds = _code(level.requires), _code(level.features)
    return (_code([level.name]), str(level.rank), requires, adds, str(level.vector_bits), minimum or EMPTY)


def _flags(table: Table, level: Level, families: Iterable[str]) -> tuple[str, ...]:
    return (_code([level.name]), *(_flags_of(level, one) for one in families), _code(table.defines(level.name)))


def _flags_of(level: Level, family: str) -> str:
    if family not in level.flags:
        return "cannot build it"
    optional = level.optional_flags.get(family, ())
    return " ".join([_code(level.flags[family]), f"optional: {_code(optional)}" if optional else ""]).strip()


def _processor(found: Features) -> str:
    parts = [
        f"### Features of {found.name}\n",
        _rows(("feature", "detection", "OS state", "needs", "macros"), map(_feature, found.features.values())),
    ]
    if found.states:
        heads = ("state", "XCR0 bits", "permission asked of Linux", "asked on macOS")
        parts += [f"### OS states of {found.name}\n", _rows(heads, map(_state, found.states.values()))]
    return "\n".join(parts)


def _feature(feature: Feature) -> tuple[str, ...]:
    needs, macros = _code(feature.needs), _code(feature.macros)
    places = " or ".join(map(detection, feature.conditions))
    return (_code([feature.name]), places, feature.state or EMPTY, needs, macros)


def _state(state: State) -> tuple[str, ...]:
    permission = EMPTY if state.permission is None else f"XSAVE component {state.permission}"
    check = state.check
    return (state.name, hex(check.xcr0), permission, _code([check.macos_sysctl] if check.macos_sysctl else ()))


def detection(condition: Condition) -> str:
    """Return where a feature is read, as processors' manuals write it: `CPUID.7.0:EBX[5]`."""
    high = condition.low + condition.width - 1
    bits = str(high) if condition.width == 1 else f"{high}:{condition.low}"
    least = "" if condition.width == 1 else f" >= {condition.minimum}"
    if condition.minimum == condition.maximum > 1:
        least = f" = {condition.minimum}"
    place = condition.source.place
    if condition.source.kind == "cpuid":
        return f"CPUID.{place[0]:X}H.{place[1]}:{place[2].upper()}[{bits}]{least}"
    if condition.source.kind == "hwcap":
        return f"AT_HWCAP{place[0] if place[0] > 1 else ''}[{bits}]{least}"
    if condition.source.kind == "prctl":
        return f"prctl({place[0]})[{bits}]{least}"
    return f"{condition.source.kind} {place[0]} >= {condition.minimum}"


def _code(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names) or EMPTY


def _rows(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    def lines() -> Iterator[str]:
        titles = tuple(heads)
        yield _line(titles)
        yield _line(("---",) * len(titles))
        yield from map(_line, rows)

    return "\n".join(lines()) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
