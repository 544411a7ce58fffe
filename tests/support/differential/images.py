"""Programs and libraries of Windows and macOS as a trace needs them: the level of the code at each address.

Linked files of these formats have no sections of levels. The sealed objects beside a file tell which level defines a
function of a name, and code belongs to the function before it. A name that several levels define, or a level and
ordinary code, is a leak by itself: a linker keeps one of them.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import lief

from isagen.binary.contents import Binding, Symbol, SymbolKind
from isagen.binary.formats import architecture_of

NM = {"windows": "x86_64-w64-mingw32-nm", "darwin": "llvm-nm-16"}  # LLVM's leaves out local symbols of COFF at 0
SHARED = "several levels"  # in place of a level's name
SLIDE = 0x200000000  # what the loader of Mach-O files adds to their addresses
LISTED = re.compile(r"^(?:.*/)?(?:isa_([A-Z0-9_]+)\.)?[^/]*: (\S+) [TtWw] ([0-9a-f]+)", re.MULTILINE)
# Arrays that GNU's linker puts into the code; they end it.
ARRAYS = ("__CTOR_LIST__", "__DTOR_LIST__")
MEM_EXECUTE, INSTRUCTIONS = 0x20000000, 0x80000400  # flags of sections, of PE and of Mach-O


@dataclass(frozen=True)
class Code:
    """A range of code of one level (`isagen.binary.contents.Section`)."""

    address: int
    size: int
    level: str
    executable: bool = True


class Image:
    """A linked file that is loaded where it says, or at `SLIDE` (`isagen.binary.reader.Binary`, in part)."""

    fixed = True

    def __init__(self, path: Path) -> None:
        self.path, self.shown = path, str(path)
        objects = [*sorted(path.parent.glob("isa_*.*.o")), path.parent / "ordinary.o"]
        self.architecture = architecture_of(objects[0])
        file: Any = lief.parse(path)
        nm = NM["windows" if isinstance(file, lief.PE.Binary) else "darwin"]
        levels = _levels_of_names(_listed(nm, objects))
        if isinstance(file, lief.PE.Binary):
            base, of_code = file.imagebase, MEM_EXECUTE
            sections = [(section, int(section.characteristics)) for section in file.sections]
        else:
            base, of_code = SLIDE, INSTRUCTIONS
            sections = [(section, int(section.flags)) for section in file.sections]
        added = SLIDE if base == SLIDE else 0
        self._names = [(name, address + added) for _, name, address in _listed(nm, [path])]
        self._contents = [
            (base + section.virtual_address, bytes(section.content)) for section, flags in sections if flags & of_code
        ]
        # By address, the level of the code that starts there; of several symbols, one of a level tells it.
        self._levels = {address: "" for address, _ in self._contents}
        for name, address in self._names:
            self._levels[address] = self._levels.get(address) or levels.get(name, "")
        data = []
        if isinstance(file, lief.PE.Binary):
            starts = [address for name, address in self._names if name in ARRAYS]
            ends = [start + len(content) for start, content in self._contents]
            data = [(min(starts), min(end for end in ends if end > min(starts)))] if starts else []
        elif file.has_data_in_code:
            text = file.get_segment("__TEXT").virtual_address + base
            data = [(text + entry.offset, text + entry.offset + entry.length) for entry in file.data_in_code.entries]
        self.sections = tuple(self._code(sorted(data)))

    def _code(self, data: Sequence[tuple[int, int]]) -> Iterator[Code]:
        """Yield the ranges of code, without the `data` in it."""
        for start, content in self._contents:
            end = start + len(content)
            inside = sorted(address for address in self._levels if start <= address < end)
            pieces = [
                (self._levels[first], low, high)
                for first, after in pairwise([*inside, end])
                for low, high in _without(first, after, data)
            ]
            for (level, _), run in groupby(_by_gap(pieces), key=lambda piece: piece[0]):
                of_level = [piece for _, piece in run]
                yield Code(of_level[0][1], of_level[-1][2] - of_level[0][1], level)

    def __enter__(self) -> "Image":
        return self

    def __exit__(self, *details: object) -> None:
        return None

    def level_at(self, address: int) -> str:
        """The level of the code at an address."""
        return next((code.level for code in self.sections if 0 <= address - code.address < code.size), "")

    def read(self, address: int, size: int) -> bytes:
        """The code at an address."""
        start, content = next(one for one in self._contents if 0 <= address - one[0] < len(one[1]))
        return content[address - start :][:size]

    def symbols(self) -> Iterator[Symbol]:
        """The functions, by their names in C."""
        for name, address in self._names:
            text = name.removeprefix("_")
            yield Symbol(0, text, SymbolKind.FUNCTION, Binding.GLOBAL, 1, address, 0, True)


def _by_gap(pieces: Sequence[tuple[str, int, int]]) -> Iterator[tuple[tuple[str, int], tuple[str, int, int]]]:
    """Yield each piece with its level and a number, which changes where a piece does not touch the one before it."""
    number = before = 0
    for piece in pieces:
        number += piece[1] != before
        before = piece[2]
        yield (piece[0], number), piece


def _without(start: int, end: int, data: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a range that are not `data`."""
    for low, high in data:
        if low < end and high > start:
            if start < low:
                yield start, low
            start = max(start, high)
    if start < end:
        yield start, end


def _listed(nm: str, files: Sequence[Path]) -> list[tuple[str, str, int]]:
    """Return the functions that files define: the level of a sealed object, the name and the address."""
    done = subprocess.run([nm, "-P", "-A", "--defined-only", *files], capture_output=True, text=True, check=True)
    return [(level, name, int(address, 16)) for level, name, address in LISTED.findall(done.stdout)]


def _levels_of_names(listed: Sequence[tuple[str, str, int]]) -> Mapping[str, str]:
    """Return the level that defines a function of each name; sections have symbols, too."""
    found: dict[str, str] = {}
    for level, name, _ in listed:
        if not name.startswith((".text", "ltmp")):
            found[name] = level if found.get(name, level) == level else SHARED
    return found
