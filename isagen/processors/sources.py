"""Sources of features: their kinds, each a number of at most 64 bits, and the conditions for features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..model.toml import Section


@dataclass(frozen=True)
class Source:
    """A number that a CPU or an OS has: its kind, and its place there: a leaf and a register, a word, a name."""

    kind: str
    place: tuple[Any, ...]


@dataclass(frozen=True)
class Condition:
    """A condition for a feature: a field of a source is at least `minimum`. A bit is a field of width 1."""

    source: Source
    low: int = 0
    width: int = 1
    minimum: int = 1

    @property
    def mask(self) -> int:
        """The field's bits, moved down to bit 0."""
        return (1 << self.width) - 1

    def holds(self, word: int) -> bool:
        """Return whether `word`, read from the source, shows the feature."""
        return word >> self.low & self.mask >= self.minimum


@dataclass(frozen=True)
class SourceKind:
    """A kind of source: the key `name` of a feature, whose value has the `form`.

    The value is an array of values for the `parts` of a place, and a bit or field of a number of `bits`. Without parts
    it is a string, and the number counts whole. `parameter` is that of the C function that reads an OS's source.
    """

    name: str
    bits: int
    form: str
    example: str
    parts: tuple[Sequence[Any], ...] = ()
    parameter: str = ""

    def read(self, entry: Section) -> tuple[Source, int, int]:
        """Read a source, the lowest bit of the field in it, and the field's width."""
        if not self.parts:
            return Source(self.name, (entry.string(self.name),)), 0, self.bits
        *place, bit = entry.array(self.name) or [None]
        field = _field(bit, self.bits)
        known = len(place) == len(self.parts) and all(
            type(one) is type(allowed[0]) and one in allowed for one, allowed in zip(place, self.parts, strict=True)
        )
        if field is None or not known:
            raise entry.fail(self.name, f"must be {self.form}, not {[*place, bit]!r}", f"for example {self.example}")
        return Source(self.name, tuple(place)), *field


# The kinds that an OS provides, for any processor: `machines.Machine` and isa_system.c.j2 read them.
SYSTEM_KINDS = (
    SourceKind("hwcap", 64, "[word, bit]", "[2, 14]: bit 14 of AT_HWCAP2", (range(1, 3),), "int word"),
    SourceKind("sysctl", 31, "a name", '"hw.optional.arm.FEAT_DotProd"', parameter="const char *name"),
)


def read_conditions(entry: Section, kinds: Sequence[SourceKind]) -> tuple[Condition, ...]:
    """Read where a feature is detected: at least one of the `kinds`, and `minimum`. Any of the conditions shows it."""
    given = [kind for kind in kinds if kind.name in entry]
    if not given:
        raise entry.fail(kinds[0].name, "is missing", f"give one of {', '.join(kind.name for kind in kinds)}")
    minimum = entry.integer("minimum", 1)
    found = [Condition(*kind.read(entry), minimum) for kind in given]
    for condition in found:
        if not 1 <= minimum <= condition.mask:
            remedy = f"a field of {condition.width} bits holds 1 to {condition.mask}"
            raise entry.fail("minimum", f"{minimum} is out of range", remedy)
    return tuple(found)


def _field(value: Any, bits: int) -> tuple[int, int] | None:
    """Return the lowest bit and the width of a bit, or of a field [highest, lowest], of a number of `bits`."""
    high, low = value if isinstance(value, list) and len(value) == 2 else (value, value)
    if type(high) is not int or type(low) is not int or not 0 <= low <= high < bits:
        return None
    return low, high - low + 1
