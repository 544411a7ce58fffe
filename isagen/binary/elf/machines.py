"""The processor that an ELF file's code is for, from the first bytes of the file."""

from __future__ import annotations

from ..protocol import Architecture
from .layout import layout_of

HEAD = 20  # bytes up to the end of e_machine
# Values of e_machine (System V gABI).
EM_NONE = 0
MACHINES = {
    3: "x86",
    20: "PowerPC",
    21: "64-bit PowerPC",
    22: "S390",
    40: "Arm",
    62: "x86-64",
    183: "AArch64",
    243: "RISC-V",
    258: "LoongArch",
}
LITTLE_ENDIAN = frozenset({3, 62})  # machines without a big-endian mode: messages mention the byte order of such files


def architecture_of(head: bytes) -> Architecture | None:
    """Return what a file with these first bytes is for; None where they tell no machine."""
    layout = layout_of(head)
    if layout is None or len(head) < HEAD:
        return None
    machine = int.from_bytes(head[18:20], layout.byteorder)
    if machine == EM_NONE:
        return None
    name = MACHINES.get(machine, f"machine {machine}")
    if not layout.wide:
        name += " (32-bit)"
    elif layout.byteorder == "big" and machine in LITTLE_ENDIAN:
        name += " (big-endian)"
    return Architecture("elf", machine, 64 if layout.wide else 32, layout.byteorder, name)
