"""The list of processors, and functions that find a processor, its decoder or its tables."""

from __future__ import annotations

import platform
from collections.abc import Container, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from ..binary.contents import Architecture
from ..model.errors import AuditError, CpuError
from .decoding import Decoder
from .machines import Machine
from .processor import Processor

# The folders of processors. The last processor is for all other architectures.
NAMES = ("x86", "arm64", "ppc64", "riscv64", "s390x", "loongarch64", "generic")
PROCESSORS: tuple[Processor, ...] = tuple(import_module(f".{name}", __package__).PROCESSOR for name in NAMES)


def processor_names() -> tuple[str, ...]:
    """Return the processors' names, which are those of their features files."""
    return tuple(sorted(processor.name for processor in PROCESSORS))


def find_processor(name: str) -> Processor | None:
    """Return the processor called `name`; None if there is none."""
    return next((processor for processor in PROCESSORS if processor.name == name), None)


def processor_of_family(cpu_family: str) -> Processor:
    """Return the processor for Meson's `cpu_family`: the generic one if no other is for it."""
    return next((processor for processor in PROCESSORS if processor.cpu_family == cpu_family), PROCESSORS[-1])


def audited_processor() -> Processor:
    """Return the processor that an audit assumes if no file or option shows it: the first that has a decoder."""
    return next(processor for processor in PROCESSORS if processor.decodable is not None)


def is_decoded(architecture: Architecture) -> bool:
    """Return whether a decoder for an architecture exists."""
    return _decoding(architecture) is not None


def decoder_of(architecture: Architecture | None, shown: str) -> Decoder:
    """Return the decoder for code of an architecture. Messages call the code's file `shown`.

    Raises `AuditError` if there is none, or if the library that it needs is not installed.
    """
    if architecture is None:
        raise AuditError("does not say which processor it is for", where=shown)
    processor = _decoding(architecture)
    if processor is None:
        raise AuditError(
            f"code for {architecture.shown} is not decoded", where=shown, remedy=f"only code for {decoded()} is decoded"
        )
    return _decoder(processor, architecture.format)


@cache
def _decoder(processor: Processor, binary_format: str) -> Decoder:
    decodable = processor.decodable
    assert decodable is not None
    if not decodable.installed:
        name = decodable.distribution
        raise AuditError(f"{name} is not installed", where="audit", remedy=f"pip install {name}")
    module, _, name = decodable.decoder.partition(":")
    decoder: Decoder = getattr(import_module(module), name)(decodable.abis[binary_format])
    return decoder


def decoded() -> str:
    """Return the names of the kinds of code that can be decoded, for messages."""
    *names, last = (processor.decodable.shown for processor in PROCESSORS if processor.decodable is not None)
    return f"{', '.join(names)} and {last}" if names else last


def _decoding(architecture: Architecture) -> Processor | None:
    return next((p for p in PROCESSORS if p.decodable is not None and p.decodable.is_in(architecture)), None)


def builtin_tables() -> Mapping[str, Path]:
    """Return the files of the tables that come with isagen, by name, in alphabetical order."""
    return dict(sorted((path.stem, path) for p in PROCESSORS for path in (p.home / "tables").glob("*.toml")))


def family_under(macros: Container[str]) -> str:
    """Return Meson's name of the architecture for which a compiler predefines `macros`; "" if it is unknown."""
    families = (family for p in PROCESSORS for macro, family in p.macros.items() if macro in macros)
    return next(families, "")


def this_cpu_family() -> str:
    """Return Meson's name of the architecture that this Python runs on."""
    name = platform.machine().lower()
    return next((p.spellings[name] for p in PROCESSORS if name in p.spellings), name)


def this_machine(name: str) -> Machine:
    """Return this CPU and OS, for the features of the processor `name`.

    If the processor `name` reads no machines, this machine's own processor reads it. Raises `CpuError` if neither reads
    machines, or if the processor `name` reads only machines of another architecture.
    """
    family = this_cpu_family()
    for processor in (find_processor(name), processor_of_family(family)):
        if processor is not None and processor.machine is not None:
            if processor.cpu_family == family:
                return processor.machine()
            reason = f"this CPU ({platform.machine()}) is not {processor.cpu_family}"
            raise CpuError(reason, remedy=f"run isagen on {processor.cpu_family}, or choose a table for this CPU")
    readable = ", ".join(processor.name for processor in PROCESSORS if processor.machine is not None)
    raise CpuError(
        f"features of this CPU ({platform.machine()}) cannot be read", remedy=f"isagen reads those of {readable}"
    )
