"""COFF and PE: the objects and linked files of Windows.

No script can take the linker's place, so a build audits only the targets that the project lists in `isa_links`.
"""

from __future__ import annotations

from ..format import Format
from .image_pointers import PeImage
from .reader import Coff
from .sealing import CoffObject, emptied, sealed

FORMAT = Format(
    name="coff",
    shown="COFF",
    systems=("windows",),
    object_suffixes=(".obj", ".o"),
    archive_suffixes=(".a", ".lib"),
    macros=("__MINGW64__", "_MSC_VER"),
    readers=(PeImage, Coff),
    load_object=CoffObject.load,
    seal=sealed,
    emptied=emptied,
    # On Windows, GCC aligns the stack to 16 bytes, but stores wider vectors there by moves that need a larger alignment
    # (https://gcc.gnu.org/PR54412). With this option, GNU as >= 2.38 writes moves that need no alignment.
    gcc_args=("-Wa,-muse-unaligned-vector-move",),
)
