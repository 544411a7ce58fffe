"""The rules of reading CPUID and XCR0: what lies beyond the highest leaf or subleaf counts as zero."""

from __future__ import annotations

from functools import cached_property

from ..features import State
from ..machines import Machine
from ..sources import REGISTERS, Cpuid

OSXSAVE = 1 << 27  # CPUID.1:ECX
EXTENDED = 0x80000000


class X86Registers:
    """The registers of a machine, each read where CPU and OS say that it can be."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._highest = machine.cpuid(0, 0)[0]
        extended = machine.cpuid(EXTENDED, 0)[0]
        # A CPU without extended leaves answers with another leaf's data.
        self._extended = extended if extended >> 16 == EXTENDED >> 16 else 0
        self._highest_of_7 = machine.cpuid(7, 0)[0] if self._highest >= 7 else 0

    @cached_property
    def xcr0(self) -> int:
        """XCR0, or 0 where the OS has not enabled XGETBV."""
        enabled = self._highest >= 1 and self._machine.cpuid(1, 0)[2] & OSXSAVE
        return self._machine.xgetbv(0) if enabled else 0

    def read(self, source: Cpuid) -> int:
        """Return the word that `source` names."""
        last = self._extended if source.leaf >= EXTENDED else self._highest
        if source.leaf > last or (source.leaf == 7 and source.subleaf > self._highest_of_7):
            return 0
        return self._machine.cpuid(source.leaf, source.subleaf)[REGISTERS.index(source.register)]

    def saves(self, state: State) -> bool:
        """Return whether the OS saves a state on a context switch."""
        if self.xcr0 & state.xcr0 == state.xcr0:
            return True
        return state.macos_sysctl is not None and self._machine.is_enabled(state.macos_sysctl)
