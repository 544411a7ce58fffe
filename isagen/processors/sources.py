"""Sources of features, which are numbers from the CPU or the OS, and conditions on a number that show a feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..model.toml import Section


@dataclass(frozen=True)
class Source:
    """A number from the CPU or the OS. Its `place` is for example a word, or a leaf, a subleaf and a register."""

    kind: str
    place: tuple[Any, ...]


@dataclass(frozen=True)
class Condition:
    """A condition for a feature: a field of a source's number is between `minimum` and `maximum`, inclusive.

    `low` is the field's lowest bit. A single bit is a field of width 1.
    """

    source: Source
    low: int = 0
    width: int = 1
    minimum: int = 1
    maximum: int = 1

    @property
    def mask(self) -> int:
        """The mask of the field, shifted down to bit 0."""
        return (1 << self.width) - 1

    def holds(self, word: int) -> bool:
        """Return whether the source's number `word` shows the feature."""
        return self.minimum <= word >> self.low & self.mask <= self.maximum


@dataclass(frozen=True)
class SourceKind:
    """A kind of source. In the TOML of a feature, the kind's `name` is the key of such a source.

    If there are `parts`, the key's value is an array: the place, with one item of each part, and then a bit or a field.
    Otherwise the value is a string, which is the place, and the field is the whole number. A number has `bits` bits.
    The C function that reads a source of the OS has the parameter `parameter`. Compilers predefine `macro` for the
    systems that have the source; if it is empty, all systems have it.
    """

    name: str
    bits: int
    example: str
    parts: tuple[Sequence[Any], ...] = ()
    parameter: str = ""
    macro: str = ""

    def read(self, entry: Section) -> tuple[Source, int, int]:
        """Read a source, the lowest bit of its field, and the field's width."""
        if not self.parts:
            return Source(self.name, (entry.string(self.name),)), 0, self.bits
        *place, bit = entry.array(self.name) or [None]
        field = _field(bit, self.bits)
        is_place = len(place) == len(self.parts) and all(
            type(part) is type(allowed[0]) and part in allowed for part, allowed in zip(place, self.parts, strict=True)
        )
        if field is None or not is_place:
            raise entry.fail(self.name, f"{[*place, bit]!r} is no bit or field", f"write it as {self.example}")
        return Source(self.name, tuple(place)), *field


# The macros that compilers predefine for a system, by Meson's name of the system; ELF for other systems.
SYSTEM_MACROS = {"darwin": "__APPLE__", "windows": "_WIN32"}
ELF = "__ELF__"
# The kinds of sources that an OS has, for any processor: `machines.Machine` and isa_system.c.j2 read them.
SYSTEM_KINDS = (
    SourceKind("hwcap", 64, "[2, 14]: bit 14 of AT_HWCAP2", (range(1, 3),), "int word", ELF),
    SourceKind("prctl", 31, "[51, [15, 0]]: the bytes of SVE vectors", (range(1, 256),), "int operation", ELF),
    SourceKind("windows", 1, "[43, 0]: PF_ARM_V82_DP_INSTRUCTIONS...", (range(1, 256),), "int feature", "_WIN32"),
    SourceKind("sysctl", 31, '"hw.optional.arm.FEAT_DotProd"', (), "const char *name", "__APPLE__"),
)


def read_conditions(entry: Section, kinds: Sequence[SourceKind]) -> tuple[Condition, ...]:
    """Read the conditions of a feature, one for each source. Any of them shows the feature."""
    given = [kind for kind in kinds if kind.name in entry]
    if not given:
        raise entry.fail(kinds[0].name, "is missing", f"give one of {', '.join(kind.name for kind in kinds)}")
    minimum, maximum = entry.integer("minimum", 1), entry.integer("maximum", None)
    conditions = []
    for kind in given:
        source, low, width = kind.read(entry)
        largest = (1 << width) - 1
        if not 1 <= minimum <= largest:
            raise entry.fail("minimum", f"{minimum} is out of range", f"a field of {width} bits holds 1 to {largest}")
        if maximum is not None and not minimum <= maximum <= largest:
            raise entry.fail("maximum", f"{maximum} is out of range", f"it may be {minimum} to {largest}")
        conditions.append(Condition(source, low, width, minimum, largest if maximum is None else maximum))
    return tuple(conditions)


def _field(value: Any, bits: int) -> tuple[int, int] | None:
    """Return the lowest bit and the width of a bit or field [highest, lowest] below `bits`; None if it is neither."""
    high, low = value if isinstance(value, list) and len(value) == 2 else (value, value)
    if type(high) is not int or type(low) is not int or not 0 <= low <= high < bits:
        return None
    return low, high - low + 1
