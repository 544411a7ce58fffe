"""How a CPU and its OS are asked: the raw answers, and the rules by which a processor's registers are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .sources import Cpuid

if TYPE_CHECKING:
    from .features import State


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

    def hwcap(self, word: int) -> int:
        """Return AT_HWCAP for 1, AT_HWCAP2 for 2; 0 where the OS has none."""

    def sysctl(self, name: str) -> int:
        """Return the int that macOS has under `name`; 0 where there is none, or a negative one."""


class Registers(Protocol):
    """The registers of one machine, each read where CPU and OS say that it can be; what cannot be read is 0."""

    @property
    def xcr0(self) -> int:
        """XCR0."""

    def read(self, source: Cpuid) -> int:
        """Return the word that `source` names."""

    def saves(self, state: State) -> bool:
        """Return whether the OS saves a state on a context switch."""


class NoRegisters:
    """Those of a processor that has none to read."""

    xcr0 = 0

    def read(self, source: Cpuid) -> int:
        """Return 0."""
        return 0

    def saves(self, state: State) -> bool:
        """Return that no state is saved."""
        return False
