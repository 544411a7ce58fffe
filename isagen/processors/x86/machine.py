"""Reads the x86 CPU and OS that isagen runs on; machine.c does the same in generated code.

Sources: arch_prctl(2) and Linux, Documentation/arch/x86/xstate.rst (permissions); Apple, sysctlbyname(3).
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from ...model.errors import CpuError
from .machine_code import ExecutableMemory, own_code
from .registers import X86Machine

# Linux on x86-64: the number of arch_prctl, and two of its operations.
SYS_ARCH_PRCTL = 158
ARCH_GET_XCOMP_PERM, ARCH_REQ_XCOMP_PERM = 0x1022, 0x1023


class ThisMachine(X86Machine):
    """This CPU and OS. Raises `CpuError` in a 32-bit process, or if the OS allows no executable memory."""

    def __init__(self) -> None:
        if ctypes.sizeof(ctypes.c_void_p) == 4:
            raise CpuError("a 32-bit process cannot read the CPU's features", remedy="run isagen with a 64-bit Python")
        code = own_code()
        try:
            self._memory = ExecutableMemory(code.cpuid + code.xgetbv)
        except OSError as problem:
            raise CpuError(
                f"the OS allows no executable memory, from which CPUID would be called: {problem.strerror}",
                remedy="run isagen where that is allowed: SELinux's deny_execmem and systemd's"
                " MemoryDenyWriteExecute forbid it",
            ) from None
        address = self._memory.address
        self._cpuid = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(address)
        self._xgetbv = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32)(address + len(code.cpuid))

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
        """Request an XSAVE component from Linux for this process; return whether Linux reports the permission."""
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
