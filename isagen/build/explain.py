"""Finds the project's mistakes that made a link fail. The linker's own errors only name symbols."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from ..audit.build_objects import BuildObjects
from ..binary.contents import Binding, SymbolKind
from ..binary.formats import is_binary, load_object
from ..binary.mangling import demangle
from ..model.errors import BuildError, PlanError, did_you_mean
from ..model.names import BIND_SYMBOL, UNREGISTERED_SYMBOL
from ..model.plan_file import plans_in, read_plan
from .tables import names_in

# A symbol of GCC's LTO objects, which contain no machine code. For Clang's, which are bitcode, `is_binary` is false.
FOR_LTO = "__gnu_lto_slim"


def explained(objects: BuildObjects) -> Iterator[BuildError]:
    """Yield the mistakes in a link of `objects`."""
    for path, symbol, levels in objects.past_stubs(objects.private_names):
        yield BuildError(
            f"refers to {demangle(symbol)}, which kernel sources define: it is private to {', '.join(levels)}",
            where=str(path),
            remedy="call it through a stub, or define it in an ordinary source",
        )
    yield from _stubs(objects)
    yield from _across_levels(objects)
    yield from _definitions(objects)


def _stubs(objects: BuildObjects) -> Iterator[BuildError]:
    """Yield an error for each stub that no source defines, several sources define, or no kernel source registers."""
    defined: dict[str, list[str]] = {}
    registered: set[str] = set()
    bound: set[str] = set()
    paths = dict.fromkeys(path.resolve() for path in objects.others)
    linked = {path: load_object(path).symbols for path in paths if is_binary(path)}
    # Whether all definitions are known: LTO objects do not list the symbols that they define.
    complete = len(linked) == len(paths) and not any(symbol.name == FOR_LTO for symbol in chain(*linked.values()))
    for path in objects.libraries:
        for name in names_in(os.fspath(path)):
            if name.startswith(BIND_SYMBOL.encode()):
                stub = name.decode(errors="surrogateescape").removeprefix(BIND_SYMBOL)
                defined.setdefault(stub, []).append(objects.shown(path))
    for path, symbols in linked.items():
        for symbol in symbols:
            if symbol.name.startswith(BIND_SYMBOL):
                stub = symbol.name.removeprefix(BIND_SYMBOL)
                if symbol.definition:
                    defined.setdefault(stub, []).append(objects.shown(path))
                else:
                    bound.add(stub)
            elif symbol.name.startswith(UNREGISTERED_SYMBOL) and symbol.definition:
                registered.add(symbol.name.removeprefix(UNREGISTERED_SYMBOL))
    for stub in sorted(bound - defined.keys()) if complete else ():
        yield BuildError(
            f"{_registering(objects, stub)} registers a kernel for it, but no source of this target defines it",
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
    # Skipped if `bound` is empty: without a table of stubs, nothing shows what is registered.
    for stub in sorted(defined.keys() - registered) if bound else ():
        if others := list(_sets_with(objects, stub)):
            yield BuildError(
                f"{defined[stub][0]} defines it, but the set {others[0]}, which registers it, is not linked",
                where=stub,
                remedy=f"add isa_kernels_deps['{others[0]}'] to the target's dependencies, or remove the definition",
            )
            continue
        remedy = f"write ISA_REGISTER_DISPATCH({stub}, &function) in a source of isa_kernels, or remove the definition"
        suggestion = did_you_mean(stub, sorted(registered - defined.keys()))
        yield BuildError(
            f"{defined[stub][0]} defines it, but no kernel source registers a function for it",
            where=stub,
            remedy=f"{remedy}; {suggestion}" if suggestion else remedy,
        )


def _across_levels(objects: BuildObjects) -> Iterator[BuildError]:
    """Yield an error for each private name that an object of a level uses, but that only other levels define.

    A level that the object's level requires does not count as another, and may define the name.
    """
    below = {level.name: level.requires for level in objects.plan.levels}
    ordinary = {s.name for path in filter(is_binary, objects.others) for s in load_object(path).symbols if s.definition}
    for level, paths in objects.by_level.items():
        symbols = [(path, symbol) for path in paths for symbol in load_object(path).symbols]
        defined = ordinary.union(symbol.name for _, symbol in symbols if symbol.definition)
        for path, symbol in symbols:
            owners = objects.private_names.get(symbol.name, ()) if not symbol.definition else ()
            if owners and symbol.name not in defined and not set(owners).intersection(below[level]):
                yield BuildError(
                    f"{_source(objects, path)} refers to it at {level}, but it is private to {', '.join(owners)}",
                    where=demangle(symbol.name),
                    remedy=f"define it at {level}, at a level that {level} requires, or in an ordinary source",
                )


def _definitions(objects: BuildObjects) -> Iterator[BuildError]:
    code: dict[str, bool] = {}
    sources: dict[str, dict[str, list[str]]] = {}  # by name and level
    for level, path in ((level, path) for level, paths in objects.by_level.items() for path in paths):
        file = load_object(path)
        for symbol in file.symbols:
            if symbol.definition and symbol.binding == Binding.GLOBAL and symbol.kind != SymbolKind.COMMON:
                sources.setdefault(symbol.name, {}).setdefault(level, []).append(_source(objects, path))
                code[symbol.name] = file.is_code(symbol)
    for name, by_level in sorted(sources.items()):
        owners = max(by_level.values(), key=len)
        if len(owners) > 1 and (code[name] or name in objects.private_names):
            yield BuildError(
                f"{' and '.join(dict.fromkeys(owners))} define it",
                where=demangle(name),
                remedy="make it static, or put it into an anonymous namespace",
            )
        elif len(by_level) > 1 and name not in objects.private_names:
            yield BuildError(
                f"{' and '.join(dict.fromkeys(owners))} define{'s' * (len(owners) == 1)} this "
                f"{'function' if code[name] else 'variable'} at each level: {', '.join(by_level)}",
                where=demangle(name),
                remedy="make it private to the kernel source, so that each level has its own: static in C and C++, "
                "without bind(c) in a Fortran module, without .globl in assembly; or define it in an ordinary source",
            )


def _source(objects: BuildObjects, path: Path) -> str:
    return objects.kernel(path) or "a source of isa_dependencies"


def _sets_with(objects: BuildObjects, stub: str) -> Iterator[str]:
    """Yield the build's other sets whose kernel sources register a stub. Sets not yet sealed are left out."""
    for path in plans_in(objects.folder):
        try:
            plan = read_plan(path).plan
        except PlanError:  # skipped: an earlier isagen may have written this plan, for a set that no longer exists
            continue
        compiled = BuildObjects(plan, path.parent, (), objects.root).registrations.values()
        kernels = (kernel for registrations in compiled for kernel in registrations.kernels.values())
        if plan.kernel_set != objects.plan.kernel_set and any(stub in kernel.registers for kernel in kernels):
            yield plan.kernel_set


def _registering(objects: BuildObjects, stub: str) -> str:
    for registrations in objects.registrations.values():
        for source, kernel in registrations.kernels.items():
            if stub in kernel.registers:
                return source
    return "a kernel source"
