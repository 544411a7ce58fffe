"""Explaining a link that failed: what a project did, where the linker can only name symbols."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ..audit.build_objects import BuildObjects
from ..audit.demangle import demangle
from ..binary.formats import is_binary, load_object
from ..model.errors import BuildError, IsagenError, did_you_mean
from ..model.names import BIND_SYMBOL, UNREGISTERED_SYMBOL, registrations_name
from ..model.plan_file import read_registrations


def explained(objects: BuildObjects, folder: Path) -> Iterator[BuildError]:
    """Yield what is wrong with a link of `objects`, in a build whose plan is in `folder`."""
    for path, symbol, levels in objects.past_stubs(objects.private):
        yield BuildError(
            f"refers to {demangle(symbol)}, which kernel sources define: it is private to {', '.join(levels)}",
            where=str(path),
            remedy="call it through a stub, or define it in an ordinary source",
        )
    yield from _stubs(objects, folder)


def _stubs(objects: BuildObjects, folder: Path) -> Iterator[BuildError]:
    """Yield the stubs that are not defined, defined more than once, or defined and not registered."""
    defined: dict[str, list[str]] = {}
    registered: set[str] = set()
    bound: set[str] = set()
    for path in objects.others:
        for symbol in load_object(path).symbols if is_binary(path) else ():
            if symbol.name.startswith(BIND_SYMBOL):
                stub = symbol.name.removeprefix(BIND_SYMBOL)
                if symbol.defined:
                    defined.setdefault(stub, []).append(objects.shown(path))
                else:
                    bound.add(stub)
            elif symbol.name.startswith(UNREGISTERED_SYMBOL) and symbol.defined:
                registered.add(symbol.name.removeprefix(UNREGISTERED_SYMBOL))
    for stub in sorted(bound - defined.keys()):
        yield BuildError(
            f"{_registering(objects, folder, stub)} registers a kernel for it, but no source of this target defines it",
            where=stub,
            remedy=f"write ISA_DEFINE_DISPATCH({stub}) in one ordinary source of the target",
        )
    for stub, places in sorted(defined.items()):
        if len(places) > 1:
            yield BuildError(
                f"is defined more than once: in {' and in '.join(places)}",
                where=stub,
                remedy=f"keep one ISA_DEFINE_DISPATCH({stub}), in one ordinary source",
            )
    for stub in sorted(defined.keys() - registered) if bound else ():  # else the dispatch source was not read
        yield BuildError(
            f"{defined[stub][0]} defines it, but no kernel source registers a function for it",
            where=stub,
            remedy=f"write ISA_REGISTER_DISPATCH({stub}, &function) in a kernel source, or remove the definition; "
            + did_you_mean(stub, sorted(registered)),
        )


def _registering(objects: BuildObjects, folder: Path, stub: str) -> str:
    """Return the kernel source that registers a stub, at the lowest level that has a kernel for it."""
    for level in objects.plan.levels:
        with suppress(IsagenError):
            for source, found in read_registrations(folder / registrations_name(level.name)).kernels.items():
                if stub in found.registers:
                    return source
    return "a kernel source"
