"""The OS that isagen runs on as a source of features, on any processor: words of HWCAP, and sysctls of macOS."""

from __future__ import annotations

import ctypes
import sys

# Of the auxiliary vector: Linux, include/uapi/linux/auxvec.h; FreeBSD and OpenBSD, sys/elf_common.h and sys/auxv.h.
LINUX_HWCAPS = {1: 16, 2: 26}
BSD_HWCAPS = {1: 25, 2: 26}


class ThisSystem:
    """This OS, and a CPU that has no registers of its own to read. A processor's own class adds its registers."""

    def cpuid(self, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        """Return zeros: there is no CPUID."""
        return 0, 0, 0, 0

    def xgetbv(self, index: int) -> int:
        """Return 0: there is no XCR0."""
        return 0

    def permission(self, component: int) -> bool:
        """Return that nothing has to be asked for."""
        return True

    def is_enabled(self, sysctl: str) -> bool:
        """Return whether a sysctl of macOS is 1."""
        return self.sysctl(sysctl) == 1

    def hwcap(self, word: int) -> int:
        """Return AT_HWCAP for 1, AT_HWCAP2 for 2; 0 where the OS has none."""
        libc = ctypes.CDLL(None)
        if sys.platform == "linux":
            libc.getauxval.restype = ctypes.c_ulong
            return int(libc.getauxval(ctypes.c_ulong(LINUX_HWCAPS[word])))
        if sys.platform.startswith(("freebsd", "openbsd")) and hasattr(libc, "elf_aux_info"):
            value = ctypes.c_ulong(0)
            size = ctypes.sizeof(value)
            return 0 if libc.elf_aux_info(BSD_HWCAPS[word], ctypes.byref(value), size) else value.value
        return 0

    def sysctl(self, name: str) -> int:
        """Return the int that macOS has under `name`; 0 where there is none, or a negative one."""
        if sys.platform != "darwin":
            return 0
        value, size = ctypes.c_int(0), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
        found = ctypes.CDLL(None).sysctlbyname(
            name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
        )
        return max(value.value, 0) if found == 0 else 0
