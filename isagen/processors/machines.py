"""Reads sources of features from this CPU and its OS. The CPU's name is for people: detection never reads it."""

from __future__ import annotations

import ctypes
import platform
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .sources import Source

# Keys of the auxiliary vector: Linux, include/uapi/linux/auxvec.h; FreeBSD and OpenBSD, sys/elf_common.h, sys/auxv.h.
LINUX_HWCAPS = {1: 16, 2: 26}
BSD_HWCAPS = {1: 25, 2: 26}
# Linux's file about CPUs, and the keys of a CPU's name in it on some architectures.
CPUINFO = Path("/proc/cpuinfo")
KEY = re.compile(r"^(?:model name|cpu model|cpu|uarch|Hardware)\s*: *(\S.*)$", re.MULTILINE)


class Machine:
    """This OS, and a CPU without registers to read. Subclasses add sources of their processors."""

    @property
    def registers(self) -> Mapping[str, int]:
        """The registers that a report shows, by name."""
        return {}

    def read(self, source: Source) -> int:
        """Return the value of a source on this machine; 0 if the machine lacks the source."""
        return int(getattr(self, source.kind)(*source.place))

    def saves(self, state: Any) -> bool:
        """Return whether the OS saves `state` on a context switch. Each processor defines the type of its states."""
        return False

    def permission(self, number: int) -> bool:
        """Return whether the process may use the state with this number; asks the OS for permission where it must."""
        return True

    def hwcap(self, word: int) -> int:
        """Return AT_HWCAP for `word` 1 and AT_HWCAP2 for 2; 0 if the OS has no such value."""
        if sys.platform == "win32":
            return 0
        libc = ctypes.CDLL(None)
        if sys.platform == "linux":
            libc.getauxval.restype = ctypes.c_ulong
            return int(libc.getauxval(ctypes.c_ulong(LINUX_HWCAPS[word])))
        if sys.platform.startswith(("freebsd", "openbsd")) and hasattr(libc, "elf_aux_info"):
            value = ctypes.c_ulong(0)
            size = ctypes.sizeof(value)
            return 0 if libc.elf_aux_info(BSD_HWCAPS[word], ctypes.byref(value), size) else value.value
        return 0

    def prctl(self, operation: int) -> int:
        """Return what Linux's prctl() returns for an operation without arguments; 0 if it fails, or on another OS."""
        if sys.platform != "linux":
            return 0
        return max(int(ctypes.CDLL(None).prctl(operation, *[ctypes.c_ulong(0)] * 4)), 0)

    def windows(self, feature: int) -> int:
        """Return 1 if Windows reports a feature (IsProcessorFeaturePresent), otherwise 0."""
        if sys.platform != "win32":
            return 0
        return int(bool(ctypes.WinDLL("kernel32").IsProcessorFeaturePresent(ctypes.c_uint32(feature))))

    def sysctl(self, name: str) -> int:
        """Return macOS's value of the sysctl `name`; 0 if there is none, or if it is negative."""
        if sys.platform != "darwin":
            return 0
        value, size = ctypes.c_int(0), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
        status = ctypes.CDLL(None).sysctlbyname(
            name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
        )
        return max(value.value, 0) if status == 0 else 0

    def cpu_name(self) -> str:
        """Return the CPU's name from Linux or Python; "" if there is none."""
        try:
            found = KEY.search(CPUINFO.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            found = None
        return " ".join(found[1].split()) if found else platform.processor()
