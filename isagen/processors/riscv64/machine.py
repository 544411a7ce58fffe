"""Reads riscv_hwprobe(2) of Linux, a source of features. detect.c.j2 reads the same in generated code."""

from __future__ import annotations

import ctypes
import sys

from ..machines import Machine
from ..sources import ELF, SourceKind

HWPROBE = SourceKind("hwprobe", 64, "[4, 3]: bit 3 of RISCV_HWPROBE_KEY_IMA_EXT_0", (range(1 << 31),), macro=ELF)
SYS_RISCV_HWPROBE = 258


class RiscvMachine(Machine):
    """This machine, whose processor is riscv64."""

    def hwprobe(self, key: int) -> int:
        """Return the bits of a key's value that all CPUs have; 0 if Linux is older than the call or the key."""
        if sys.platform != "linux":
            return 0
        pair, libc = (ctypes.c_int64 * 2)(key, 0), ctypes.CDLL(None)
        libc.syscall.restype = ctypes.c_long
        size, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
        status = libc.syscall(ctypes.c_long(SYS_RISCV_HWPROBE), ctypes.byref(pair), size, none, None, none)
        return pair[1] & (1 << 64) - 1 if status == 0 and pair[0] == key else 0
