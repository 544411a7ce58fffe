"""Mach-O, the format of macOS, for x86-64 and arm64."""

from __future__ import annotations

from ..format import Format
from .images import MachoImage
from .reader import Macho
from .sealing import MachoObject, emptied, sealed

FORMAT = Format(
    name="macho",
    shown="Mach-O",
    systems=("darwin",),
    object_suffixes=(".o",),
    archive_suffixes=(".a",),
    macros=("__MACH__",),
    readers=(MachoImage, Macho),
    load_object=MachoObject.load,
    seal=sealed,
    emptied=emptied,
)
