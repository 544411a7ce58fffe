"""The registrations of kernels, read from the symbols of compiled objects.

A kernel source that says ``ISA_REGISTER_DISPATCH(stub, ...)`` defines ``isa_kernel_LEVEL__stub``; one that says
``ISA_REGISTER_NO_DISPATCH(stub)`` defines ``isa_without_LEVEL__stub``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..binary.protocol import ObjectFile
from ..model.errors import BuildError
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL, copy_of_object
from ..model.plan import Plan
from ..model.registrations import Registered, Registrations
from .addresses import shared_data


@dataclass
class _Found:
    """The stubs of one kernel source, as its symbols are read."""

    registers: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def registered_by_kernel(plan: Plan, level: str, objects: Sequence[ObjectFile]) -> Registrations:
    """Return what each kernel registers at `level`. Raises `BuildError` where two objects register one stub."""
    registers, without = KERNEL_SYMBOL.format(level=level), WITHOUT_SYMBOL.format(level=level)
    kernels: dict[str, _Found] = {}
    owners: dict[str, str] = {}
    shared: dict[str, int] = {}
    for source, file in zip(sources_of(plan, level, objects), objects, strict=True):
        found = kernels.setdefault(source, _Found())
        shared.update(shared_data(file.symbols))
        for symbol in file.symbols:
            if not symbol.defined:
                continue
            if symbol.name.startswith(registers):
                stub = symbol.name.removeprefix(registers)
                if stub in owners:
                    raise BuildError(
                        f"is registered twice at {level}: by {owners[stub]} and by {source}",
                        where=stub,
                        remedy="a stub takes one kernel per level: remove one ISA_REGISTER_DISPATCH, or rename a stub",
                    )
                owners[stub] = source
                found.registers.append(stub)
            elif symbol.name.startswith(without):
                found.without.append(symbol.name.removeprefix(without))
    return Registrations(
        level=level,
        kernels={
            source: Registered(tuple(sorted(found.registers)), tuple(sorted(found.without)))
            for source, found in sorted(kernels.items())
        },
        shared=dict(sorted(shared.items())),
    )


def sources_of(plan: Plan, level: str, objects: Sequence[ObjectFile]) -> list[str]:
    """Return the kernel source behind each object of `level`. Raises `BuildError` if there is none."""
    sources = {cell.copy: kernel.source for kernel, cell in plan.copies() if cell.level == level}
    return [source_of(file.path, sources) for file in objects]


def code_by_source(plan: Plan, level: str, objects: Sequence[ObjectFile]) -> dict[str, ObjectFile]:
    """Return the object of each kernel source at `level`; shims, which hold no code, are left out."""
    shims = plan.shims()
    files = [file for file in objects if copy_of_object(file.path.name) not in shims]
    return dict(zip(sources_of(plan, level, files), files, strict=True))


def source_of(path: Path, sources: Mapping[str, str]) -> str:
    """Return the kernel source behind an object. Raises `BuildError` if there is none."""
    copy = copy_of_object(path.name)
    if copy not in sources:
        raise BuildError("does not come from a kernel of the plan", where=str(path), remedy="clean the build folder")
    return sources[copy]
