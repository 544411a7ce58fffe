"""Reading the symbols of object files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from ..errors import BuildError

SHF_WRITE = 1


@dataclass(frozen=True)
class Symbol:
    """A symbol that an object defines: name, kind (``FUNC``, ``OBJECT``, ``TLS``), binding (``WEAK``), size in bytes.

    `constant` tells that nobody writes to it: code, read-only data, or data that only the loader relocates.
    """

    name: str
    kind: str
    binding: str
    size: int
    constant: bool


def defined_symbols(path: Path) -> Iterator[Symbol]:
    """Yield the non-local symbols that the ELF object at `path` defines."""
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            constant = [
                section.name.startswith(".data.rel.ro") or not section["sh_flags"] & SHF_WRITE
                for section in elf.iter_sections()
            ]
            for section in elf.iter_sections():
                if not isinstance(section, SymbolTableSection):
                    continue
                for symbol in section.iter_symbols():
                    binding = symbol["st_info"]["bind"].removeprefix("STB_")
                    place = symbol["st_shndx"]
                    if place != "SHN_UNDEF" and binding != "LOCAL":
                        yield Symbol(
                            name=symbol.name,
                            kind=symbol["st_info"]["type"].removeprefix("STT_"),
                            binding=binding,
                            size=symbol["st_size"],
                            constant=isinstance(place, int) and constant[place],
                        )
    except ELFError as problem:
        raise BuildError(
            f"is not an object file that isagen can read: {problem}",
            where=str(path),
            remedy="kernels must be compiled to ELF objects; is link-time optimisation switched on by hand?",
        ) from None
