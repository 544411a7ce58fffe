"""What isagen has to know of one processor architecture; each processor's folder says its own, as `PROCESSOR`."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .machines import Machine, Registers

ANY_FAMILY = "*"


@dataclass(frozen=True)
class DecodableCode:
    """The code that a decoder reads, as a compiler's predefined macros tell it, and its name in messages."""

    shown: str
    defined: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()

    def is_made_under(self, macros: Container[str]) -> bool:
        """Return whether a compiler that predefines `macros` makes code of this kind."""
        return all(name in macros for name in self.defined) and not any(name in macros for name in self.undefined)


@dataclass(frozen=True)
class Processor:
    """One processor: the folder holds `features.toml`, `tables/` and, where registers are read, `detect.c.j2`.

    `cpu_families` and the keys of `default_tables` are Meson's names; `spellings` maps what ``platform.machine()``
    answers, in lower case, to them. `machines` has the processor's numbers by binary format: ``{"elf": (62,)}``.
    `detection` names the folder whose `detect.c.j2` reads registers: the generic one reads none. `baseline_table` is
    the table whose levels an audit's baseline is named after. The callables import only when they are called:
    `decoder` gives what decodes instructions, or None where it is not installed, `registers` the rules by which a
    machine's registers are read, `this_machine` the CPU and OS that Python runs on.
    """

    name: str
    folder: Path
    cpu_families: tuple[str, ...]
    default_tables: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    machines: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    detection: str = "generic"
    baseline_table: str = ""
    decodable: DecodableCode | None = None
    decoder: Callable[[], Any] | None = None
    registers: Callable[[Machine], Registers] | None = None
    this_machine: Callable[[], Machine] | None = None

    @property
    def features_file(self) -> Path:
        """The file of the processor's features."""
        return self.folder / "features.toml"

    def tables(self) -> Mapping[str, Path]:
        """Return the files of the processor's tables, by the tables' names."""
        return {path.stem: path for path in sorted((self.folder / "tables").glob("*.toml"))}

    def is_for(self, cpu_family: str) -> bool:
        """Return whether the processor's tables can be built for Meson's `cpu_family`."""
        return ANY_FAMILY in self.cpu_families or cpu_family in self.cpu_families
