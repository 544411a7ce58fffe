"""Where features are read: registers of CPUID, words of HWCAP, and sysctls, each a number of at most 64 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..model.toml import Section

REGISTERS = ("eax", "ebx", "ecx", "edx")
KINDS = ("cpuid", "hwcap", "sysctl")


@dataclass(frozen=True)
class Cpuid:
    """A register after the CPUID instruction, 32 bits."""

    leaf: int
    subleaf: int
    register: str


@dataclass(frozen=True)
class Hwcap:
    """A word of the ELF auxiliary vector: AT_HWCAP for 1, AT_HWCAP2 for 2."""

    word: int


@dataclass(frozen=True)
class Sysctl:
    """An int that macOS gives by name, 31 bits; 0 where it knows no such name."""

    name: str


Source = Cpuid | Hwcap | Sysctl


@dataclass(frozen=True)
class Condition:
    """The condition for a feature: a field of a source's word is at least `minimum`. A bit is a field of width 1."""

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


def read_condition(entry: Section) -> Condition:
    """Read the keys of a feature that say how it is detected: one of `KINDS`, and `minimum`."""
    given = [kind for kind in KINDS if kind in entry]
    if not given:
        raise entry.fail("cpuid", "is missing", f"give one of {', '.join(KINDS)}")
    if len(given) > 1:
        raise entry.fail(given[1], f"cannot stand beside {given[0]}", "a feature is read from one place")
    source, low, width = {"cpuid": _cpuid, "hwcap": _hwcap, "sysctl": _sysctl}[given[0]](entry)
    minimum = entry.integer("minimum", 1)
    if not 1 <= minimum < 1 << width:
        raise entry.fail("minimum", f"{minimum} is out of range", f"a field of {width} bits holds 1 to {2**width - 1}")
    return Condition(source, low, width, minimum)


def _cpuid(entry: Section) -> tuple[Source, int, int]:
    place = entry.array("cpuid")
    field = _field(place[3], 32) if len(place) == 4 else None
    if field is None or not all(_is_count(number) for number in place[:2]) or place[2] not in REGISTERS:
        raise entry.fail(
            "cpuid",
            f"must be [leaf, subleaf, register, bit], not {place!r}",
            'for example [7, 0, "ebx", 5], or [0x24, 0, "ebx", [7, 0]] for a field of bits 7 to 0',
        )
    leaf, subleaf, register, _ = place
    return Cpuid(leaf, subleaf, register), *field


def _hwcap(entry: Section) -> tuple[Source, int, int]:
    place = entry.array("hwcap")
    field = _field(place[1], 64) if len(place) == 2 else None
    if field is None or not _is_count(place[0]) or place[0] not in (1, 2):
        raise entry.fail("hwcap", f"must be [word, bit], not {place!r}", "for example [2, 14]: bit 14 of AT_HWCAP2")
    return Hwcap(place[0]), *field


def _sysctl(entry: Section) -> tuple[Source, int, int]:
    return Sysctl(entry.string("sysctl")), 0, 31


def _field(value: Any, bits: int) -> tuple[int, int] | None:
    """Return the lowest bit and the width of a bit, or of a field [highest, lowest], of a word of `bits`."""
    if _is_count(value):
        value = [value, value]
    if not isinstance(value, list) or len(value) != 2 or not all(_is_count(number) for number in value):
        return None
    high, low = value
    return (low, high - low + 1) if low <= high < bits else None


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0
