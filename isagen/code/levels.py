"""The level that code in a binary belongs to."""

from __future__ import annotations

from ..binary.protocol import Binary
from ..model.names import level_of_section


def level_at(binary: Binary, address: int) -> str:
    """Return the sealed level whose code is at an address; nothing for other addresses."""
    section = binary.section_at(address)
    return level_of_section(section.name) if section is not None and section.executable else ""


def sealed_levels(binary: Binary) -> frozenset[str]:
    """Return the sealed levels whose code a binary contains."""
    found = (level_of_section(section.name) for section in binary.sections if section.size)
    return frozenset(level for level in found if level)
