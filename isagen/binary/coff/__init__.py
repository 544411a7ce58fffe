"""COFF: the objects of Windows (`isagen.binary.sealing_protocol.Format`).

MinGW's compilers mangle names of C++ by the Itanium ABI, clang-cl and cl by Microsoft's: each name shows its ABI.
Linked files are PE files. No script takes the linker's place, so builds audit only the targets in isa_links.
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
# On Windows, GCC aligns the stack to 16 bytes, and stores wider vectors there as if it were aligned to their size
# (https://gcc.gnu.org/PR54412). GNU as 2.38 turns such moves into unaligned ones.
gcc_args = ("-Wa,-muse-unaligned-vector-move",)
links_by_script = False
mangling: Mangling = names
load_object = CoffObject.load


def starts(head: bytes) -> bool:
    """Return whether a file with these first bytes is an object, or a linked file."""
    return layout.is_image(head) or layout.is_object(head)


def architecture(head: bytes) -> Architecture | None:
    """Return the architecture that a file's first bytes name."""
    return layout.architecture_of_image(head) if layout.is_image(head) else layout.architecture_of(head)


def open(path: AnyPath, shown: str = "") -> Binary:
    """Open a file; messages name it `shown`."""
    with Path(path).open("rb") as stream:
        linked = stream.read(len(layout.IMAGE_MAGIC)) == layout.IMAGE_MAGIC
    return PeImage(path, shown) if linked else Coff(path, shown)


def with_note(content: bytes, owner: str, text: bytes) -> bytes:
    """Return `content` unchanged: only objects of whole modules get notes, and these have no levels on Windows."""
    return content
