"""COFF and PE: the objects and linked files of Windows (`isagen.binary.sealing_protocol.Format`).

MinGW's compilers mangle C++ names by the Itanium ABI, clang-cl and cl by Microsoft's; each name shows its ABI. Scripts
cannot take the linker's place, so builds audit only the targets in isa_links.
"""

from __future__ import annotations

from pathlib import Path

from ...model.files import AnyPath
from ..notes import note_text as record
from ..protocol import Architecture, Binary, Mangling
from . import layout, names
from .image_pointers import PeImage
from .objects import CoffObject
from .reader import Coff
from .sealing import emptied
from .sealing import sealed as seal

__all__ = ["emptied", "record", "seal"]

name, shown = "coff", "COFF"
systems = ("windows",)
object_suffixes, archive_suffixes = (".obj", ".o"), (".a", ".lib")
macros = ("__MINGW64__", "_MSC_VER")
# On Windows, GCC aligns the stack to 16 bytes, but stores wider vectors there by moves that need a larger alignment
# (https://gcc.gnu.org/PR54412). With this option, GNU as >= 2.38 writes moves that need no alignment.
gcc_args = ("-Wa,-muse-unaligned-vector-move",)
links_by_script = False
mangling: Mangling = names
load_object = CoffObject.load


def starts(head: bytes) -> bool:
    """Return whether a file with these first bytes is an object, or a linked file."""
    return layout.is_image(head) or layout.is_object(head)


def architecture(head: bytes) -> Architecture | None:
    """Return the architecture in a file's first bytes."""
    return layout.architecture_of_image(head) if layout.is_image(head) else layout.architecture_of(head)


def open(path: AnyPath, shown: str = "") -> Binary:
    """Open a file; messages name it `shown`."""
    with Path(path).open("rb") as stream:
        linked = stream.read(len(layout.IMAGE_MAGIC)) == layout.IMAGE_MAGIC
    return PeImage(path, shown) if linked else Coff(path, shown)


def with_note(content: bytes, owner: str, text: bytes) -> bytes:
    """Return `content` unchanged: only whole modules need the note, and they have no levels on Windows."""
    return content
