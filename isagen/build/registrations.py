"""The registrations of kernels, read from the symbols of compiled objects, or from their bytes.

``ISA_REGISTER_DISPATCH(stub, ...)`` in a kernel source defines the symbol ``isa_kernel_LEVEL__stub``, and
``ISA_REGISTER_NO_DISPATCH(stub)`` the symbol ``isa_without_LEVEL__stub``. If isagen cannot read the objects of a build,
both macros define a text, too (`ISA_ANNOUNCE`), which compilers copy into objects of any format:
``isagen:registers:LEVEL:STUB;`` or ``isagen:without:LEVEL:STUB;``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..model.errors import BuildError
from ..model.files import AnyPath, read_bytes
from ..model.registrations import Registered, Registrations
from .compiled import Compiled, registration_prefixes


def registered_by(compiled: Compiled, level: str, shim: bool = False) -> Registered:
    """Return the registrations in a copy's object. With `shim`, it is a shim's object (`plan.Cell`): `code` is None."""
    names = [symbol.name for symbol in compiled.symbols if symbol.defined]
    registers, without = (
        tuple(name.removeprefix(prefix) for name in names if name.startswith(prefix))
        for prefix in registration_prefixes(level)
    )
    return Registered(registers, without, None if shim else compiled.code)


def registrations_of(level: str, objects: Iterable[tuple[str, Registered]], shared: Mapping[str, str]) -> Registrations:
    """Return the registrations of `level`, from (kernel source, registrations) of each of its objects.

    Raises `BuildError` if two objects register the same stub.
    """
    kernels: dict[str, Registered] = {}
    owners: dict[str, str] = {}
    for source, registered in objects:
        for stub in registered.registers:
            if stub in owners:
                raise BuildError(
                    f"is registered twice at {level}: by {owners[stub]} and by {source}",
                    where=stub,
                    remedy="a stub has one kernel per level: remove one ISA_REGISTER_DISPATCH, or rename a stub",
                )
            owners[stub] = source
        copy = kernels.get(source, Registered())  # a source may have a copy and a shim
        kernels[source] = Registered(
            tuple(sorted(copy.registers + registered.registers)),
            tuple(sorted(copy.without + registered.without)),
            copy.code or registered.code,
        )
    return Registrations(level, dict(sorted(kernels.items())), dict(sorted(shared.items())))


def announced_registrations(level: str, objects: Iterable[tuple[AnyPath, str]]) -> Registrations:
    """Return the registrations in the texts of `objects` (path, kernel source). Raises as `registrations_of` does."""

    def stubs(word: str, content: bytes) -> tuple[str, ...]:
        names = re.findall(rf"isagen:{word}:{re.escape(level)}:(\w+);".encode(), content)
        return tuple(name.decode() for name in dict.fromkeys(names))

    contents = ((source, read_bytes(path)) for path, source in objects)
    announced = ((one, Registered(stubs("registers", text), stubs("without", text))) for one, text in contents)
    return registrations_of(level, announced, {})
