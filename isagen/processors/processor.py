"""The description of one processor architecture; each processor's folder defines its own, `PROCESSOR`."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ..binary.protocol import Architecture
from ..model.toml import Section
from .decoding import Abi, Decoder
from .machines import Machine
from .sources import SourceKind

ANY_FAMILY = "*"


@dataclass(frozen=True)
class DecodableCode:
    """The code that a decoder reads: its name in messages, its ABI by binary format, and how compilers show it.

    `decoder` returns what decodes code of an ABI. A compiler that makes such code predefines all macros `defined`, and
    none `undefined`. `package` is the Python package that decodes, of a `distribution`.
    """

    shown: str
    distribution: str
    package: str
    abis: Mapping[str, Abi]
    decoder: Callable[[Abi], Decoder]
    defined: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()

    def installed(self) -> Path | None:
        """Import the package, and return its folder; None where it is not installed for this Python."""
        try:
            module = import_module(self.package)
        except ImportError:
            return None
        return Path(module.__file__).parent if module.__file__ else None

    def is_in(self, architecture: Architecture) -> bool:
        """Return whether binaries for an architecture hold code of this kind."""
        abi = self.abis.get(architecture.format)
        found = (architecture.machine, architecture.bits, architecture.order)
        return abi is not None and (abi.machine, abi.bits, abi.order) == found

    def is_made_under(self, macros: Container[str]) -> bool:
        """Return whether a compiler that predefines `macros` makes code of this kind."""
        return all(name in macros for name in self.defined) and not any(name in macros for name in self.undefined)


@dataclass(frozen=True)
class OldestCpu:
    """The attributes that compile a function for every CPU of an architecture, whatever the command line turns on.

    `macro` is predefined where code is made for the architecture. `gcc` and `clang` are the values of the compilers'
    attribute `target`. `clang_where` adds to Clang's where a macro is defined, which old versions do not know.
    """

    macro: str
    gcc: str
    clang: str
    clang_where: tuple[str, str]


def _no_state(entry: Section) -> None:
    """Read a state of a processor whose states have no keys of their own."""


@dataclass(frozen=True, eq=False)  # each is itself alone, so that it can be a key
class Processor:
    """One processor: its folder, `home`, holds `features.toml`, `tables/` and, where registers are read, `detect.c.j2`.

    `cpu_families` and the keys of `default_tables` are Meson's names; `spellings` maps what ``platform.machine()``
    answers, in lower case, to them, and `macros` what compilers predefine where they make code for one. `detection`
    names the folder whose `detect.c.j2` reads registers: the generic one reads none. `kinds` are the kinds of sources
    that are the processor's own, and `read_state` reads a state's own keys. `oldest_cpu` says how generated
    code is compiled for every CPU; without it, the project's flags hold. `baseline_table` is the table whose levels an
    audit's baseline is named after.

    `this_machine` returns the CPU and OS that Python runs on. It and decoders import only when they are called.
    """

    name: str
    home: Path
    cpu_families: tuple[str, ...]
    default_tables: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    detection: str = "generic"
    kinds: tuple[SourceKind, ...] = ()
    read_state: Callable[[Section], Any] = _no_state
    oldest_cpu: OldestCpu | None = None
    baseline_table: str = ""
    decodable: DecodableCode | None = None
    this_machine: Callable[[], Machine] | None = None

    def tables(self) -> Mapping[str, Path]:
        """Return the files of the processor's tables, by the tables' names."""
        return {path.stem: path for path in sorted((self.home / "tables").glob("*.toml"))}

    def is_for(self, cpu_family: str) -> bool:
        """Return whether the processor's tables can be built for Meson's `cpu_family`."""
        return ANY_FAMILY in self.cpu_families or cpu_family in self.cpu_families
