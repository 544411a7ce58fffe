"""Whether the levels of a build are sealed, and which systems have objects that can be."""

from __future__ import annotations

import zlib

from ..model.errors import CompilerError
from ..model.plan import Sealing

# Meson's host_machine.system() values whose objects are ELF.
ELF_SYSTEMS = ("android", "dragonfly", "freebsd", "gnu", "linux", "netbsd", "openbsd", "sunos")


def sealing_of(project: str, wanted: bool) -> Sealing:
    """Return how the levels of `project` are sealed; `wanted` is the Meson option."""
    if not wanted:
        return Sealing(reason="switched off by the Meson option isa_seal")
    # Several projects may be linked into one program. Demanglers know suffixes of digits.
    return Sealing(mark=str(zlib.crc32(project.encode())))


def check_system(system: str) -> None:
    """Raise `CompilerError` for a Meson host system whose objects isagen cannot read."""
    if system not in ELF_SYSTEMS:
        raise CompilerError(
            f"objects of {system} cannot be read yet",
            where="host machine",
            remedy=f"isagen builds where objects are ELF: {', '.join(ELF_SYSTEMS)}",
        )
