"""Reads CPUID, a source of features, and XCR0, which shows what the OS saves.

A leaf beyond the highest one reads as zero, and so does a subleaf of leaf 7 beyond its highest one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...model.toml import Section
from ..machines import Machine
from ..sources import Source, SourceKind

REGISTERS = ("eax", "ebx", "ecx", "edx")
CPUID = SourceKind(
    "cpuid",
    32,
    '[7, 0, "ebx", 5] (leaf, subleaf, register, bit), or [0x24, 0, "ebx", [7, 0]] for a field of bits 7 to 0',
    (range(1 << 32), range(1 << 32), REGISTERS),
)
OSXSAVE = 1 << 27  # CPUID.1:ECX
EXTENDED = 0x80000000


@dataclass(frozen=True)
class SavedState:
    """Registers that the OS saves if all bits of the mask `xcr0` are set in XCR0.

    If macOS enables the state on first use, the sysctl `macos_sysctl` is 1 although the bits are not set.
    """

    xcr0: int
    macos_sysctl: str | None = None


def read_state(entry: Section) -> SavedState:
    """Read a state of the features file."""
    return SavedState(entry.integer("xcr0"), entry.string("macos_sysctl", None))


class X86Machine(Machine):
    """The rules for reading an x86 CPU; a subclass executes CPUID and XGETBV, or returns recorded values."""

    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        """Return (eax, ebx, ecx, edx)."""
        raise NotImplementedError

    def xgetbv(self, index: int) -> int:
        """Return XCR0, for `index` 0. Only called if the OS has enabled XGETBV."""
        raise NotImplementedError

    @property
    def xcr0(self) -> int:
        """XCR0, or 0 if the OS has not enabled XGETBV."""
        enabled = self.cpuid(0, 0)[0] >= 1 and self.cpuid(1, 0)[2] & OSXSAVE
        return self.xgetbv(0) if enabled else 0

    @property
    def registers(self) -> Mapping[str, int]:
        """XCR0."""
        return {"xcr0": self.xcr0}

    def read(self, source: Source) -> int:
        """Return the value of a source on this machine; 0 if the machine lacks the source."""
        if source.kind != CPUID.name:
            return super().read(source)
        leaf, subleaf, register = source.place
        if leaf > self._last(leaf) or (leaf == 7 and subleaf > self.cpuid(7, 0)[0]):
            return 0
        return self.cpuid(leaf, subleaf)[REGISTERS.index(register)]

    def _last(self, leaf: int) -> int:
        """Return the highest basic leaf, or the highest extended leaf if `leaf` is extended."""
        if leaf < EXTENDED:
            return self.cpuid(0, 0)[0]
        last = self.cpuid(EXTENDED, 0)[0]
        # A CPU without extended leaves returns the data of another leaf.
        return last if last >> 16 == EXTENDED >> 16 else 0

    def saves(self, state: SavedState) -> bool:
        """Return whether the OS saves a state on a context switch."""
        if self.xcr0 & state.xcr0 == state.xcr0:
            return True
        return state.macos_sysctl is not None and self.sysctl(state.macos_sysctl) == 1
