"""What kernels register: read from the symbols of compiled objects, and checked across levels.

A kernel source that says ``ISA_REGISTER_DISPATCH(stub, ...)`` defines ``isa_kernel_LEVEL__stub``; one that says
``ISA_REGISTER_NO_DISPATCH(stub)`` defines ``isa_without_LEVEL__stub``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..binary.protocol import DATA_KINDS, Binding, ObjectFile
from ..model.errors import BuildError
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL, copy_of_object
from ..model.plan import Plan
from ..model.registrations import Registered, Registrations


@dataclass
class _Found:
    """What one kernel source says, as its symbols are read."""

    registers: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def registered_by_kernel(plan: Plan, level: str, objects: Sequence[ObjectFile]) -> Registrations:
    """Return what each kernel registers at `level`. Raises `BuildError` where two objects register one stub."""
    sources = {cell.copy: kernel.source for kernel, cell in plan.copies() if cell.level == level}
    registers, without = KERNEL_SYMBOL.format(level=level), WITHOUT_SYMBOL.format(level=level)
    kernels: dict[str, _Found] = {}
    owners: dict[str, str] = {}
    shared: dict[str, int] = {}
    for file in objects:
        source = source_of(file.path, sources)
        found = kernels.setdefault(source, _Found())
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
            elif symbol.binding == Binding.WEAK and symbol.kind in DATA_KINDS and not symbol.constant:
                shared[symbol.name] = symbol.size
    return Registrations(
        level=level,
        kernels={
            source: Registered(tuple(sorted(found.registers)), tuple(sorted(found.without)))
            for source, found in sorted(kernels.items())
        },
        shared=dict(sorted(shared.items())),
    )


def source_of(path: Path, sources: Mapping[str, str]) -> str:
    """Return the kernel source behind an object. Raises `BuildError` if there is none."""
    copy = copy_of_object(path.name)
    if copy not in sources:
        raise BuildError("does not come from a kernel of the plan", where=str(path), remedy="clean the build folder")
    return sources[copy]


def stubs_of(levels: Iterable[Registrations], lowest: str) -> dict[str, list[str]]:
    """Return, by stub, the levels at which it has a kernel. Raises `BuildError` for one that is incomplete.

    A stub needs a kernel at the `lowest` level, and every kernel source that registers a stub must say something of it
    at every level that it is compiled for.
    """
    levels = list(levels)
    stubs: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for registrations in levels:
        for source, found in registrations.kernels.items():
            for stub in found.registers:
                stubs.setdefault(stub, []).append(registrations.level)
                first.setdefault(stub, source)
    if not stubs:
        raise BuildError(
            "no kernel registers itself",
            where="isa_kernels",
            remedy="end every kernel source with ISA_REGISTER_DISPATCH(stub, &function), outside anonymous namespaces",
        )
    for stub, found_at in sorted(stubs.items()):
        if lowest not in found_at:
            raise BuildError(
                f"{first[stub]} registers it at {', '.join(found_at)}, but no kernel does at {lowest}",
                where=stub,
                remedy=f"register a kernel at {lowest} too, for CPUs without any higher level",
            )
    _check_every_level(levels, stubs)
    _check_shared(levels)
    return dict(sorted(stubs.items()))


def _check_every_level(levels: Sequence[Registrations], stubs: Mapping[str, Sequence[str]]) -> None:
    said: dict[str, set[str]] = {}
    for registrations in levels:
        for source, found in registrations.kernels.items():
            said.setdefault(source, set()).update(found.registers)
    for registrations in levels:
        for source, found in registrations.kernels.items():
            silent = said[source] - set(found.registers) - set(found.without)
            for stub in sorted(silent):
                raise BuildError(
                    f"{source} registers it at {', '.join(stubs[stub])}, but not at {registrations.level}, "
                    "which it is compiled for too",
                    where=stub,
                    remedy=f"say ISA_REGISTER_NO_DISPATCH({stub}) there, or leave the level out in isa.toml",
                )


def _check_shared(levels: Sequence[Registrations]) -> None:
    """Raise `BuildError` for data that all levels share, but that is not of the same size at all of them."""
    first: dict[str, tuple[str, int]] = {}
    for registrations in levels:
        for symbol, size in registrations.shared.items():
            level, known = first.setdefault(symbol, (registrations.level, size))
            if size != known:
                raise BuildError(
                    f"this variable is shared by all levels, but has {known} bytes at {level} and {size} at "
                    f"{registrations.level}",
                    where=symbol,
                    remedy="let it be a constant that the compiler computes, or put it, or the function that holds it, "
                    "into an anonymous namespace: then each level has its own",
                )
