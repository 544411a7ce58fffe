"""Reading the symbols of object files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from ..errors import BuildError


@dataclass(frozen=True)
class Symbol:
    """A symbol that an object defines: its name, kind (``FUNC``, ``OBJECT``, ...) and binding (``WEAK``, ...)."""

    name: str
    kind: str
    binding: str


def defined_symbols(path: Path) -> Iterator[Symbol]:
    """Yield the non-local symbols that the ELF object at `path` defines."""
    try:
        with path.open("rb") as stream:
            for section in ELFFile(stream).iter_sections():
                if not isinstance(section, SymbolTableSection):
                    continue
                for symbol in section.iter_symbols():
                    binding = symbol["st_info"]["bind"].removeprefix("STB_")
                    if symbol["st_shndx"] != "SHN_UNDEF" and binding != "LOCAL":
                        yield Symbol(symbol.name, symbol["st_info"]["type"].removeprefix("STT_"), binding)
    except ELFError as problem:
        raise BuildError(
            f"is not an object file that isagen can read: {problem}",
            where=str(path),
            remedy="kernels must be compiled to ELF objects; is link-time optimisation switched on by hand?",
        ) from None
