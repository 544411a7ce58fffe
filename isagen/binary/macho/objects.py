"""A Mach-O object as sealing reads it."""

from __future__ import annotations

import struct

from ..object_file import ObjectFile
from ..protocol import Section
from .reader import Macho


class MachoObject(ObjectFile[Macho]):
    """A Mach-O object in memory."""

    format = Macho.format
    reader = Macho

    def _digested(self, section: Section) -> bytes:
        return struct.pack("<Q", section.flags)

    def _is_code_or_constants(self, section: Section) -> bool:
        return section.constant
