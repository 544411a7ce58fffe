"""What kernels register: read from the symbols of compiled objects, and checked across levels.

A kernel source that says ``ISA_REGISTER_DISPATCH(stub, ...)`` defines ``isa_kernel_LEVEL__stub``; one that says
``ISA_REGISTER_NO_DISPATCH(stub)`` defines ``isa_without_LEVEL__stub``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BuildError
from .objects import ObjectFile

# One level: {"level": NAME, "kernels": {source: {"registers": [stub, ...], "without": [stub, ...]}},
#             "shared": {symbol: size of weak data that all levels share}}
Registrations = dict[str, Any]


def registered_by_kernel(plan: Mapping[str, Any], level: str, objects: Sequence[ObjectFile]) -> Registrations:
    """Return what each kernel registers at `level`. Raises `BuildError` where two objects register one stub."""
    sources = {
        cell["copy"]: kernel["source"]
        for kernel in plan["kernels"]
        for cell in kernel["cells"]
        if cell["level"] == level and cell["copy"]
    }
    kernels: dict[str, dict[str, list[str]]] = {}
    owners: dict[str, str] = {}
    shared: dict[str, int] = {}
    for elf in objects:
        source = source_of(elf.path, sources)
        found = kernels.setdefault(source, {"registers": [], "without": []})
        for symbol in elf.symbols:
            if not symbol.defined:
                continue
            if symbol.name.startswith(f"isa_kernel_{level}__"):
                stub = symbol.name.removeprefix(f"isa_kernel_{level}__")
                if stub in owners:
                    raise BuildError(
                        f"is registered twice at {level}: by {owners[stub]} and by {source}",
                        where=stub,
                        remedy="a stub takes one kernel per level: remove one ISA_REGISTER_DISPATCH, or rename a stub",
                    )
                owners[stub] = source
                found["registers"].append(stub)
            elif symbol.name.startswith(f"isa_without_{level}__"):
                found["without"].append(symbol.name.removeprefix(f"isa_without_{level}__"))
            elif symbol.binding == "WEAK" and symbol.kind in ("OBJECT", "TLS") and not symbol.constant:
                shared[symbol.name] = symbol.size
    for found in kernels.values():
        found["registers"].sort()
        found["without"].sort()
    return {"level": level, "kernels": dict(sorted(kernels.items())), "shared": dict(sorted(shared.items()))}


def source_of(path: Path, sources: Mapping[str, str]) -> str:
    """Return the kernel source behind an object. Raises `BuildError` if there is none."""
    copy = copy_of_object(path)
    if copy not in sources:
        raise BuildError("does not come from a kernel of the plan", where=str(path), remedy="clean the build folder")
    return sources[copy]


def copy_of_object(path: Path) -> str:
    """Return the file name of the copy behind an object; Meson names objects after it, with a prefix."""
    return path.name.removesuffix(".obj").removesuffix(".o").removeprefix("meson-generated_").removeprefix(".._")


def stubs_of(levels: Iterable[Registrations], lowest: str) -> dict[str, list[str]]:
    """Return, by stub, the levels at which it has a kernel. Raises `BuildError` for one that is incomplete.

    A stub needs a kernel at the `lowest` level, and every kernel source that registers a stub must say something of it
    at every level that it is compiled for.
    """
    levels = list(levels)
    stubs: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for registrations in levels:
        for source, found in registrations["kernels"].items():
            for stub in found["registers"]:
                stubs.setdefault(stub, []).append(registrations["level"])
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
        for source, found in registrations["kernels"].items():
            said.setdefault(source, set()).update(found["registers"])
    for registrations in levels:
        for source, found in registrations["kernels"].items():
            silent = said[source] - set(found["registers"]) - set(found["without"])
            for stub in sorted(silent):
                raise BuildError(
                    f"{source} registers it at {', '.join(stubs[stub])}, but not at {registrations['level']}, "
                    "which it is compiled for too",
                    where=stub,
                    remedy=f"say ISA_REGISTER_NO_DISPATCH({stub}) there, or leave the level out in isa.toml",
                )


def _check_shared(levels: Sequence[Registrations]) -> None:
    """Raise `BuildError` for data that all levels share, but that is not of the same size at all of them."""
    first: dict[str, tuple[str, int]] = {}
    for registrations in levels:
        for symbol, size in registrations["shared"].items():
            level, known = first.setdefault(symbol, (registrations["level"], size))
            if size != known:
                raise BuildError(
                    f"this variable is shared by all levels, but has {known} bytes at {level} and {size} at "
                    f"{registrations['level']}",
                    where=symbol,
                    remedy="let it be a constant that the compiler computes, or put it, or the function that holds it, "
                    "into an anonymous namespace: then each level has its own",
                )
