"""Detects features by the rules of the generated code, on this machine or from recorded registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .features import Features
from .machines import Machine
from .table import Table


@dataclass(frozen=True)
class Cpu:
    """The result of detection: the OS saves the states in `saved`, and refuses those in `refused` to the process."""

    features: Features
    registers: Mapping[str, int]
    present: frozenset[str]
    saved: frozenset[str]
    refused: frozenset[str] = frozenset()

    def missing(self, needed: Iterable[str]) -> tuple[str, ...]:
        """Return the features of `needed` that cannot be used, each with `_why_not`, in the features file's order."""
        needed = set(needed)
        found = ((name, self._why_not(name)) for name in self.features.features if name in needed)
        return tuple(name + reason for name, reason in found if reason is not None)

    def _why_not(self, name: str) -> str | None:
        """Return why a feature cannot be used, as text for messages: "" if the CPU lacks it; None if it can be used."""
        if name not in self.present:
            return ""
        state = self.features.features[name].state
        if state in self.refused:
            return " (refused by the OS)"
        return None if state is None or state in self.saved else " (OS)"


def detect(features: Features, machine: Machine) -> Cpu:
    """Detect the features of the CPU and the states that the OS saves. No permission is requested."""
    present: set[str] = set()
    for name, feature in features.features.items():  # a feature comes after those that it needs
        if present.issuperset(feature.needs) and any(c.holds(machine.read(c.source)) for c in feature.conditions):
            present.add(name)
    saved = frozenset(name for name, state in features.states.items() if machine.saves(state.check))
    return Cpu(features, machine.registers, frozenset(present), saved)


def ask_permissions(cpu: Cpu, machine: Machine) -> Cpu:
    """Request permission for each state that needs it and that features use; return `cpu` with the refused states."""
    useful = {cpu.features.features[name].state for name in cpu.present} & cpu.saved
    refused = {
        name
        for name, state in cpu.features.states.items()
        if name in useful and state.permission is not None and not machine.permission(state.permission)
    }
    return replace(cpu, refused=frozenset(refused))


def missing_by_level(
    table: Table, cpu: Cpu, more: Mapping[str, tuple[str, ...]] | None = None
) -> Mapping[str, tuple[str, ...]]:
    """Return, by level of `table`, the features that the CPU or the OS lacks, as `Cpu.missing` does.

    A level needs the features that the table requires for it, and those in `more`, which its flags turn on.
    """
    return {name: cpu.missing((*table.required_features(name), *(more or {}).get(name, ()))) for name in table.names()}
