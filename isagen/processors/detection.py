"""What a CPU and its OS support: the generated code's detection in Python, on this machine or recorded registers."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from .features import REGISTERS, Feature, Features, State
from .table import Table

OSXSAVE = 1 << 27  # CPUID.1:ECX
EXTENDED = 0x80000000


class Machine(Protocol):
    """A CPU and its OS, asked as the hardware is: raw registers, with no rule applied yet."""

    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        """Return (eax, ebx, ecx, edx)."""

    def xgetbv(self, index: int) -> int:
        """Return XCR0 for `index` 0; called only where the OS has enabled the instruction."""

    def permission(self, component: int) -> bool:
        """Ask the OS for an XSAVE component, and return whether the process may use it."""

    def is_enabled(self, sysctl: str) -> bool:
        """Return whether macOS says that it enables a state on first use."""


class Presence(enum.Enum):
    """Whether a feature can be used, or what stands in the way. The values are how `missing` puts it."""

    USABLE = "usable"
    LACKING = ""
    UNSAVED = " (OS)"
    REFUSED = " (refused by the OS)"


@dataclass(frozen=True)
class Cpu:
    """What was found: XCR0, the features whose CPUID bit is set, the states that the OS saves, and those it refuses."""

    features: Features
    xcr0: int
    bits: frozenset[str]
    saved: frozenset[str]
    refused: frozenset[str] = frozenset()

    def presence(self, name: str) -> Presence:
        """Return whether the feature `name` can be used, and if not, why."""
        state = self.features.features[name].state
        if name not in self.bits:
            return Presence.LACKING
        if state in self.refused:
            return Presence.REFUSED
        return Presence.USABLE if state is None or state in self.saved else Presence.UNSAVED

    def missing(self, needed: Iterable[str]) -> tuple[str, ...]:
        """Return those of the features `needed` that cannot be used, with the reason, in the features file's order."""
        wanted = set(needed)
        found = ((name, self.presence(name)) for name in self.features.features if name in wanted)
        return tuple(name + presence.value for name, presence in found if presence is not Presence.USABLE)


def detect(features: Features, machine: Machine) -> Cpu:
    """Read what CPU and OS have. Permissions are not asked for: `ask_permissions` does."""
    highest = machine.cpuid(0, 0)[0]
    extended = machine.cpuid(EXTENDED, 0)[0]
    if extended >> 16 != EXTENDED >> 16:  # a CPU without extended leaves answers with another's data
        extended = 0
    xcr0 = machine.xgetbv(0) if highest >= 1 and machine.cpuid(1, 0)[2] & OSXSAVE else 0
    highest_of_7 = machine.cpuid(7, 0)[0] if highest >= 7 else 0

    def has(feature: Feature) -> bool:
        last = extended if feature.leaf >= EXTENDED else highest
        if feature.leaf > last or (feature.leaf == 7 and feature.subleaf > highest_of_7):
            return False
        values = machine.cpuid(feature.leaf, feature.subleaf)
        return bool(values[REGISTERS.index(feature.register)] >> feature.bit & 1)

    def saves(state: State) -> bool:
        if xcr0 & state.xcr0 == state.xcr0:
            return True
        return state.macos_sysctl is not None and machine.is_enabled(state.macos_sysctl)

    return Cpu(
        features=features,
        xcr0=xcr0,
        bits=frozenset(name for name, feature in features.features.items() if has(feature)),
        saved=frozenset(name for name, state in features.states.items() if saves(state)),
    )


def ask_permissions(cpu: Cpu, machine: Machine) -> Cpu:
    """Ask the OS for every state that needs its permission, and that a feature of the CPU could use."""
    useful = {cpu.features.features[name].state for name in cpu.bits} & cpu.saved
    refused = {
        name
        for name, state in cpu.features.states.items()
        if name in useful and state.permission is not None and not machine.permission(state.permission)
    }
    return replace(cpu, refused=frozenset(refused))


def missing_by_level(table: Table, cpu: Cpu) -> Mapping[str, tuple[str, ...]]:
    """Return, for every level of `table`, what `cpu` lacks of the features that the table requires for it."""
    return {name: cpu.missing(table.required_features(name)) for name in table.names()}
