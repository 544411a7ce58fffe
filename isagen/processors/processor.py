"""Defines the description of a processor architecture. Each processor's folder contains one, `PROCESSOR`."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ..binary.contents import Architecture
from ..model.toml import Section
from .decoding import Abi
from .machines import Machine
from .sources import SYSTEM_KINDS, SourceKind

FOLDER = Path(__file__).parent  # contains the processors' folders


@dataclass(frozen=True)
class DecodableCode:
    """A kind of machine code that can be decoded: its name in messages, and its ABI by binary format.

    `decoder` is the place of the decoder's class, as MODULE:CLASS. Unless `package` is empty, the decoder needs this
    Python package, from the distribution `distribution`. A compiler that writes such code predefines all macros in
    `defined`, and none in `undefined`.
    """

    shown: str
    abis: Mapping[str, Abi]
    decoder: str
    distribution: str = ""
    package: str = ""
    defined: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Whether the package is installed for this Python, or none is needed."""
        return not self.package or self.folder() is not None

    def folder(self) -> Path | None:
        """Import the package, and return its folder; None if no package is needed or it is not installed."""
        if not self.package:
            return None
        try:
            module = import_module(self.package)
        except ImportError:
            return None
        return Path(module.__file__).parent if module.__file__ else None

    def is_in(self, architecture: Architecture) -> bool:
        """Return whether binaries for an architecture contain code of this kind."""
        abi = self.abis.get(architecture.format)
        own = (architecture.machine, architecture.bits, architecture.order)
        return abi is not None and (abi.machine, abi.bits, abi.order) == own

    def is_made_under(self, macros: Container[str]) -> bool:
        """Return whether a compiler that predefines `macros` writes code of this kind."""
        return all(name in macros for name in self.defined) and not any(name in macros for name in self.undefined)


@dataclass(frozen=True, eq=False)  # compared by identity, so that a processor can be a key
class Processor:
    """One processor. Its folder, `home`, has its name, and contains `features.toml` and `tables/`.

    `cpu_family` is Meson's name of the architecture; "" stands for all others. The default table has the
    processor's name. `spellings` maps results of ``platform.machine()`` in lower case to Meson's names, and `macros`
    maps macros that compilers predefine to Meson's names. `detection` is the name of the folder whose `detect.c.j2`
    reads the processor's own sources: the generic one reads none. `kinds` are the processor's own kinds of sources, and
    `read_state` reads the keys of a state. `level_flags` adapts a level's flags to the project's arguments, which come
    before them. The option --baseline of `isagen audit` takes a level of `baseline_table`.
    """

    name: str
    cpu_family: str = ""
    spellings: Mapping[str, str] = field(default_factory=dict)
    macros: Mapping[str, str] = field(default_factory=dict)
    detection: str = "generic"
    kinds: tuple[SourceKind, ...] = ()
    read_state: Callable[[Section], Any] = lambda entry: None
    level_flags: Callable[[Sequence[str], Sequence[str]], tuple[str, ...]] = lambda flags, args: tuple(flags)
    baseline_table: str = ""
    decodable: DecodableCode | None = None
    machine: Callable[[], Machine] | None = None

    @property
    def home(self) -> Path:
        """The folder."""
        return FOLDER / self.name

    @property
    def all_kinds(self) -> tuple[SourceKind, ...]:
        """The kinds of sources that its features may have."""
        return (*self.kinds, *SYSTEM_KINDS)
