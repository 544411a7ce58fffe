"""Reads CPUID, a source of features, and XCR0, which shows what the OS saves; machine.c does so in generated code.

A leaf beyond the highest one reads as zero, and so does a subleaf of leaf 7 beyond its highest one.

Sources: arch_prctl(2) and Linux, Documentation/arch/x86/xstate.rst (permissions); Apple, sysctlbyname(3).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...model.errors import CpuError
from ...model.toml import Section
from ..machines import Machine
from ..sources import Source, SourceKind
from .machine_code import OWN, ExecutableMemory

REGISTERS = ("eax", "ebx", "ecx", "edx")
CPUID = SourceKind(
    "cpuid",
    32,
    '[7, 0, "ebx", 5] (leaf, subleaf, register, bit), or [0x24, 0, "ebx", [7, 0]] for a field of bits 7 to 0',
    (range(1 << 32), range(1 << 32), REGISTERS),
)
OSXSAVE = 1 << 27  # CPUID.1:ECX
EXTENDED = 0x80000000
# Linux on x86-64: the number of arch_prctl, and two of its operations.
SYS_ARCH_PRCTL = 158
ARCH_GET_XCOMP_PERM, ARCH_REQ_XCOMP_PERM = 0x1022, 0x1023


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
        if leaf < EXTENDED:
            return self.cpuid(0, 0)[0]
        last = self.cpuid(EXTENDED, 0)[0]
        # Without extended leaves, a CPU returns the data of another leaf: only the number of an extended leaf counts.
        return last if last >> 16 == EXTENDED >> 16 else 0

    def saves(self, state: SavedState) -> bool:
        """Return whether the OS saves a state on a context switch."""
        if self.xcr0 & state.xcr0 == state.xcr0:
            return True
        return state.macos_sysctl is not None and self.sysctl(state.macos_sysctl) == 1


class ThisMachine(X86Machine):
    """This CPU and OS. Raises `CpuError` in a 32-bit process, or if the OS allows no executable memory."""

    def __init__(self) -> None:
        if ctypes.sizeof(ctypes.c_void_p) == 4:
            raise CpuError("a 32-bit process cannot read the CPU's features", remedy="run isagen with a 64-bit Python")
        try:
            self._memory = ExecutableMemory(OWN.cpuid + OWN.xgetbv)
        except OSError as problem:
            raise CpuError(
                f"the OS allows no executable memory, from which CPUID would be called: {problem.strerror}",
                remedy="run isagen where that is allowed: SELinux's deny_execmem and systemd's"
                " MemoryDenyWriteExecute forbid it",
            ) from None
        address = self._memory.address
        self._cpuid = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(address)
        self._xgetbv = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32)(address + len(OWN.cpuid))

    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        """Return (eax, ebx, ecx, edx)."""
        registers = (ctypes.c_uint32 * 4)()
        self._cpuid(leaf, subleaf, ctypes.addressof(registers))
        eax, ebx, ecx, edx = registers
        return eax, ebx, ecx, edx

    def xgetbv(self, index: int) -> int:
        """Return XCR0, for `index` 0."""
        return int(self._xgetbv(index))

    def permission(self, component: int) -> bool:
        """Return whether the process may use an XSAVE component; on Linux, request it first if it is not permitted."""
        if sys.platform != "linux":
            return True
        return _is_permitted(component) or (
            _arch_prctl(ARCH_REQ_XCOMP_PERM, ctypes.c_ulong(component)) and _is_permitted(component)
        )


def _is_permitted(component: int) -> bool:
    mask = ctypes.c_uint64(0)
    return _arch_prctl(ARCH_GET_XCOMP_PERM, ctypes.byref(mask)) and bool(mask.value >> component & 1)


def _arch_prctl(operation: int, argument: Any) -> bool:
    libc = ctypes.CDLL(None)
    libc.syscall.restype = ctypes.c_long
    return bool(libc.syscall(ctypes.c_long(SYS_ARCH_PRCTL), ctypes.c_long(operation), argument) == 0)
