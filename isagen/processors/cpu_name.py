"""The name of this machine's CPU, for people: detection never reads it."""

from __future__ import annotations

import platform
import re
import struct
from pathlib import Path

from .machines import Machine

# CPUID's extended leaves: the highest one, and those that hold the brand string.
HIGHEST, FIRST, LAST = 0x80000000, 0x80000002, 0x80000004
# Linux's file, and the keys under which architectures tell a name.
CPUINFO = Path("/proc/cpuinfo")
KEY = re.compile(r"^(?:model name|cpu model|cpu|uarch|Hardware)\s*: *(\S.*)$", re.MULTILINE)


def cpu_name(machine: Machine) -> str:
    """Return the CPU's name as CPUID, Linux or Python tells it; "" where none does."""
    return _brand(machine) or _cpuinfo() or platform.processor()


def _brand(machine: Machine) -> str:
    if not LAST <= machine.cpuid(HIGHEST, 0)[0] <= HIGHEST + 0xFFFF:
        return ""
    raw = b"".join(struct.pack("<4I", *machine.cpuid(leaf, 0)) for leaf in range(FIRST, LAST + 1))
    return _tidy(raw.split(b"\0")[0].decode("ascii", errors="replace"))


def _cpuinfo() -> str:
    try:
        found = KEY.search(CPUINFO.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""
    return _tidy(found[1]) if found else ""


def _tidy(text: str) -> str:
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
