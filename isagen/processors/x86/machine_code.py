"""Makes CPUID and XGETBV callable from Python: functions of machine code in executable memory.

Python has no way to execute either instruction, and isagen has no compiled module.

Sources: Intel, Software Developer's Manual, volume 2 (the instructions and their encodings); System V ABI, AMD64
supplement (psABI), "Function Calling Sequence"; Microsoft, "x64 calling convention"; mprotect(2).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class MachineCode:
    """The machine code of two functions, for one calling convention.

    ``void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4])`` and ``uint64_t xgetbv(uint32_t index)``
    """

    cpuid: bytes
    xgetbv: bytes


# The end of `cpuid` in both conventions, in which functions must preserve rbx. `registers` is in r8 here.
_CPUID_64 = (
    "0fa2"  # cpuid
    "418900"  # mov [r8], eax
    "41895804"  # mov [r8+4], ebx
    "41894808"  # mov [r8+8], ecx
    "4189500c"  # mov [r8+12], edx
    "5b"  # pop rbx
    "c3"  # ret
)
# The end of `xgetbv`. XGETBV clears the upper halves of rax and rdx in 64-bit mode.
_XGETBV_64 = (
    "0f01d0"  # xgetbv
    "48c1e220"  # shl rdx, 32
    "4809d0"  # or rax, rdx
    "c3"  # ret
)
SYSTEM_V_64 = MachineCode(
    bytes.fromhex(
        "53"  # push rbx
        "4989d0"  # mov r8, rdx
        "89f8"  # mov eax, edi
        "89f1" + _CPUID_64  # mov ecx, esi
    ),
    bytes.fromhex("89f9" + _XGETBV_64),  # mov ecx, edi
)
MICROSOFT_64 = MachineCode(
    bytes.fromhex(
        "53"  # push rbx
        "89c8"  # mov eax, ecx
        "89d1" + _CPUID_64  # mov ecx, edx
    ),
    bytes.fromhex(_XGETBV_64),  # the index is in ecx
)
OWN = MICROSOFT_64 if sys.platform in ("win32", "cygwin") else SYSTEM_V_64


class ExecutableMemory:
    """A copy of some code that can be called at `address` as long as this object exists.

    The memory is first writable and then executable, because hardened systems refuse memory that is both at once.
    Raises `OSError` if the system refuses executable memory.
    """

    def __init__(self, code: bytes) -> None:
        if sys.platform == "win32":
            kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
            kernel32.VirtualAlloc.restype = ctypes.c_void_p
            size, commit_and_reserve, read_write, execute_read = ctypes.c_size_t(len(code)), 0x3000, 0x04, 0x20
            self.address = kernel32.VirtualAlloc(None, size, commit_and_reserve, read_write)
            if not self.address:
                raise ctypes.WinError(ctypes.get_last_error())
            ctypes.memmove(self.address, code, len(code))
            before = ctypes.c_ulong()
            start = ctypes.c_void_p(self.address)
            if not kernel32.VirtualProtect(start, size, execute_read, ctypes.byref(before)):
                raise ctypes.WinError(ctypes.get_last_error())
        else:
            flags, writable = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE
            self._memory = mmap.mmap(-1, len(code), flags=flags, prot=writable)
            self._memory.write(code)
            self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
            libc = ctypes.CDLL(None, use_errno=True)
            start, size = ctypes.c_void_p(self.address), ctypes.c_size_t(len(code))
            if libc.mprotect(start, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
