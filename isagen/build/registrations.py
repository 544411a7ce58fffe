"""The registrations of kernels, read from symbols of compiled objects, or from the bytes of objects of any format.

A kernel source that says ``ISA_REGISTER_DISPATCH(stub, ...)`` defines ``isa_kernel_LEVEL__stub``; one that says
``ISA_REGISTER_NO_DISPATCH(stub)`` defines ``isa_without_LEVEL__stub``. Where isagen does not read a build's objects,
both define a text instead (`ISA_ANNOUNCE`), which compilers put into objects as it is:
``isagen:registers:LEVEL:STUB;``, and ``without``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..model.errors import BuildError
from ..model.files import AnyPath, read_bytes
from ..model.matrix import Code
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Plan
from ..model.registrations import Registered, Registrations
from .addresses import LevelAddresses
from .compiled import Compiled, marks_of


@dataclass(frozen=True)
class Said:
    """What one object registers: its kernel source, stubs with and without a kernel, and its shared data. `code` is
    None for shims, and where isagen does not read objects.
    """

    source: str
    registers: tuple[str, ...]
    without: tuple[str, ...]
    shared: Mapping[str, str]
    code: Code | None


def said(source: str, file: Compiled, level: str, addresses: LevelAddresses, shim: bool = False) -> Said:
    """Return what the object of a kernel source, or of its `shim`, registers."""
    names = [symbol.name for symbol in file.symbols if symbol.defined]

    def after(start: str) -> tuple[str, ...]:
        return tuple(name.removeprefix(start) for name in names if name.startswith(start))

    shared = {symbol.name: symbol.value for symbol in addresses.shared(file)}
    registers, without = marks_of(level)
    return Said(source, after(registers), after(without), shared, None if shim else file.code)


def registrations_of(level: str, objects: Iterable[Said]) -> Registrations:
    """Return what all objects of `level` register. Raises `BuildError` where two of them register one stub."""
    registers: dict[str, list[str]] = {}
    without: dict[str, list[str]] = {}
    codes: dict[str, Code | None] = {}
    owners: dict[str, str] = {}
    shared: dict[str, str] = {}
    for one in objects:
        shared.update(one.shared)
        codes[one.source] = codes.get(one.source) or one.code
        without.setdefault(one.source, []).extend(one.without)
        registers.setdefault(one.source, []).extend(one.registers)
        for stub in one.registers:
            if stub in owners:
                raise BuildError(
                    f"is registered twice at {level}: by {owners[stub]} and by {one.source}",
                    where=stub,
                    remedy="a stub takes one kernel per level: remove one ISA_REGISTER_DISPATCH, or rename a stub",
                )
            owners[stub] = one.source
    return Registrations(
        level=level,
        kernels={
            source: Registered(tuple(sorted(found)), tuple(sorted(without[source])), codes[source])
            for source, found in sorted(registers.items())
        },
        shared=dict(sorted(shared.items())),
    )


def compiled_objects(plan: Plan, level: str, folder: str, known: CompiledObjects) -> list[str]:
    """Return the objects that Meson compiled at `level` in the `folder` of outputs, in the plan's order.

    They are listed from folders: a command line has no room for thousands.
    """
    found = []
    for unit in (unit for unit in plan.units if unit.level == level):
        place = os.path.join(folder, unit_folder(unit.name))
        names = os.listdir(place) if os.path.isdir(place) else []
        paths = (os.path.join(place, name) for name in names if name.endswith((".o", ".obj")))
        objects = {known.copy_of(path): path for path in paths}
        for copy in unit.copies:
            if copy not in objects:
                raise BuildError(f"has no object in {place}", where=copy, remedy="build again: ninja -C BUILD_DIR")
            found.append(objects[copy])
    return found


def source_of(path: AnyPath, level: str, known: CompiledObjects) -> str:
    """Return the kernel source behind an object of `level`. Raises `BuildError` if there is none."""
    found, source = known.kernel_of(path)
    if found != level:
        raise BuildError("does not come from a kernel of the plan", where=str(path), remedy="clean the build folder")
    return source


def announced(level: str, objects: Iterable[tuple[AnyPath, str]]) -> Registrations:
    """Return what the objects, each with its kernel source, announce at `level`.

    Raises `BuildError` where two register one stub, or none does.
    """
    found = [_said(source, level, read_bytes(path)) for path, source in objects]
    if not any(one.registers for one in found):
        raise BuildError(
            "no kernel registers itself",
            where="isa_kernels",
            remedy="end every kernel source with ISA_REGISTER_DISPATCH(stub, &function), outside anonymous namespaces; "
            "in objects for link-time optimisation that cannot be found: compile kernels without it",
        )
    return registrations_of(level, found)


def _said(source: str, level: str, content: bytes) -> Said:
    import re  # where objects are read, nothing else here needs it

    def texts(what: str) -> tuple[str, ...]:
        found = re.findall(rf"isagen:{what}:{re.escape(level)}:(\w+);".encode(), content)
        return tuple(dict.fromkeys(name.decode() for name in found))

    return Said(source, texts("registers"), texts("without"), {}, None)
