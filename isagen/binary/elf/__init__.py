"""ELF, the format of Linux, the BSDs and other Unix systems."""

from __future__ import annotations

from ..format import Format
from .objects import ElfObject
from .pointers import LoadedElf
from .sealing import emptied, sealed, with_note

FORMAT = Format(
    name="elf",
    shown="ELF",
    systems=("android", "dragonfly", "freebsd", "gnu", "linux", "netbsd", "openbsd", "sunos"),
    object_suffixes=(".o",),
    archive_suffixes=(".a",),
    macros=("__ELF__",),
    readers=(LoadedElf,),
    load_object=ElfObject.load,
    seal=sealed,
    emptied=emptied,
    links_by_script=True,
    with_note=with_note,
)
