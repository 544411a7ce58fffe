"""A COFF object as sealing reads it."""

from __future__ import annotations

import struct

from ..object_file import ObjectFile
from ..protocol import Section
from .entries import UNWINDING
from .layout import SCN_LNK_COMDAT
from .reader import Coff

LTO = ".gnu.lto_"


class CoffObject(ObjectFile[Coff]):
    """A COFF object in memory."""

    format = Coff.format
    reader = Coff
    code_and_constants = (".text", ".rdata", *UNWINDING)

    def _check(self) -> None:
        if any(section.name.startswith(LTO) for section in self.file.sections):
            raise self.file.fail("it is an object for link-time optimisation")

    def _digested(self, section: Section) -> bytes:
        return struct.pack("<Q", section.flags & ~SCN_LNK_COMDAT)
