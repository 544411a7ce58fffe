"""Whether the levels of a build are sealed, and which systems have objects that can be."""

from __future__ import annotations

import zlib

from ..binary.formats import known_systems
from ..model.errors import CompilerError
from ..model.plan import Sealing


def sealing_of(project: str, wanted: bool) -> Sealing:
    """Return how the levels of `project` are sealed; `wanted` is the Meson option."""
    if not wanted:
        return Sealing(reason="switched off by the Meson option isa_seal")
    # Several projects may be linked into one program. Demanglers know suffixes of digits.
    return Sealing(mark=str(zlib.crc32(project.encode())))


def check_system(system: str) -> None:
    """Raise `CompilerError` for a Meson host system whose objects isagen cannot read."""
    systems = known_systems()
    if system not in systems:
        raise CompilerError(
            f"objects of {system} cannot be read yet",
            where="host machine",
            remedy=f"isagen builds on these systems: {', '.join(systems)}",
        )
