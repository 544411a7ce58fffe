"""Compiled objects: the path of each, and the data that sealing needs.

`seal.Memo` keeps the data: later runs read only objects that changed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..binary.contents import MERGEABLE, Binding
from ..binary.formats import load_object
from ..binary.initial_values import PointerTargets
from ..model.errors import BuildError
from ..model.files import AnyPath, content_digest, read_bytes
from ..model.matrix import Code
from ..model.names import KERNEL_SYMBOL, WITHOUT_SYMBOL, sealed_name
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Build
from ..model.plan_file import outputs_folder
from .measure import NeedsOf, measured

# The prefix of the function that Python calls when it imports a module.
PYTHON_MODULE = "PyInit_"


class CompiledSymbol(NamedTuple):
    """A symbol that is not local. `code` is true if the object defines the symbol and the symbol names code.

    Sealing renames each `weak_code_or_constant`, because linkers would merge it across levels. A `mergeable_variable`
    names writable data that linkers merge across objects. Only such a symbol has an `initial_value`: a text with the
    value and the size of the data.
    """

    name: str
    binding: Binding
    defined: bool
    code: bool
    weak_code_or_constant: bool
    mergeable_variable: bool
    initial_value: str
    pointer_targets: PointerTargets


@dataclass(frozen=True)
class Compiled:
    """A compiled object.

    `findable_sections` maps the sections that code finds by name to the symbols that they point to.
    `initialised_variables` are the names of variables that code initialises, of their guards and of their initialisers.
    `runs_at_load` is true if some function runs at load or exit. `may_fold` is true if the object contains only code
    and constants, and no function that runs at load or exit. The object refers by name to the start or end of each of
    the `bounded_sections`.
    """

    path: str
    content_digest: str
    symbols: tuple[CompiledSymbol, ...]
    findable_sections: Mapping[str, PointerTargets]
    initialised_variables: frozenset[str]
    runs_at_load: bool
    may_fold: bool
    bounded_sections: frozenset[str]
    code: Code


def registration_prefixes(level: str) -> tuple[str, str]:
    """Return the prefixes of two symbols: one says that a stub has a function at `level`, one that it has none."""
    return KERNEL_SYMBOL.format(level=level), WITHOUT_SYMBOL.format(level=level)


def compiled_object(path: AnyPath, level: str, needs_of: NeedsOf) -> Compiled:
    """Read the object of a `level` at `path`; `needs_of` is the same as in `measured`."""
    file = load_object(path)
    weak = {symbol.name for symbol in file.weak_code_and_constants}
    symbols = []
    for symbol in file.symbols:
        is_code = file.is_code(symbol)
        is_data = symbol.definition and not is_code
        mergeable = is_data and symbol.binding in MERGEABLE and not file.is_constant(symbol)
        symbols.append(
            CompiledSymbol(
                name=symbol.name,
                binding=symbol.binding,
                defined=symbol.definition,
                code=is_code,
                weak_code_or_constant=symbol.definition and symbol.name in weak,
                mergeable_variable=mergeable,
                initial_value=file.initial_value(symbol) if mergeable else "",
                pointer_targets=file.pointer_targets(symbol) if is_data else PointerTargets(),
            )
        )
    return Compiled(
        path=os.fspath(path),
        content_digest=content_digest(read_bytes(path)),
        symbols=tuple(symbols),
        findable_sections=file.findable_sections(),
        initialised_variables=file.initialised_variables,
        runs_at_load=file.runs_at_load,
        may_fold=file.may_fold,
        bounded_sections=file.bounded_sections,
        code=measured(file, registration_prefixes(level), needs_of),
    )


class ObjectPaths(NamedTuple):
    """The paths of a compiled object, its kernel source and its sealed object.

    `is_shim` is true if the object is compiled from a shim (`plan.Cell`).
    """

    compiled: str
    source: str
    sealed: str
    is_shim: bool


def objects_of_levels(build: Build, plan_path: Path, folder: str) -> dict[str, list[ObjectPaths]]:
    """Return the objects of each level that has copies, lowest level first. Their sealed objects go into `folder`.

    Compiled objects are found in Meson's folders, because a command line cannot contain thousands of paths. Raises
    `BuildError` if one is missing.
    """
    plan, compiled_folder = build.plan, os.fspath(outputs_folder(plan_path.parent))
    known, shims = CompiledObjects(plan), plan.shims()
    levels: dict[str, list[ObjectPaths]] = {level: [] for level in plan.built_levels()}
    for unit in plan.units:
        place = os.path.join(compiled_folder, unit_folder(unit.name))
        names = os.listdir(place) if os.path.isdir(place) else []
        paths = (os.path.join(place, name) for name in names if name.endswith((".o", ".obj")))
        objects = {known.copy_of(path): path for path in paths}
        for copy in unit.copies:
            if copy not in objects:
                raise BuildError(f"has no object in {place}", where=copy, remedy="build again: ninja -C BUILD_DIR")
            path, sealed = objects[copy], os.path.join(folder, sealed_name(copy, unit.level))
            levels[unit.level].append(ObjectPaths(path, known.kernel_of(path)[1], sealed, copy in shims))
    return levels
