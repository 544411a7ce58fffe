"""The objects of a build: their levels, their kernel sources, and the names that they define."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from ..binary.contents import CODE_KINDS
from ..binary.formats import is_binary, is_library_name, is_object_name, load_object, objects_in, open_binary
from ..model.names import (
    KERNEL_SYMBOL,
    NO_LEVEL_SYMBOL,
    TABLE_SYMBOL,
    UNREGISTERED_SYMBOL,
    level_of_name,
    registrations_name,
    sealed_name,
)
from ..model.ninja import PRELINKED, NinjaFile
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Plan
from ..model.plan_file import outputs_folder, read_registrations
from ..model.registrations import Registrations


class BuildObjects:
    """The objects of a build: those of the plan's levels, and those of no level among the inputs of a link.

    The argument `others` is all inputs of the link: objects, also of levels, and static libraries. The property
    `others` leaves out libraries and objects of levels. The plan is in `folder`.
    """

    def __init__(self, plan: Plan, folder: Path, others: Iterable[Path], root: Path) -> None:
        self.plan = plan
        self.root = root
        self.folder = folder
        self._folder = outputs_folder(folder)
        self._others = tuple(others)

    # ---- levels, kernels and paths

    @cached_property
    def by_level(self) -> Mapping[str, tuple[Path, ...]]:
        """The objects that Meson compiled from the copies of each level."""
        paths: dict[str, tuple[Path, ...]] = {}
        for unit in self.plan.units:
            paths[unit.level] = (*paths.get(unit.level, ()), *objects_in(self._folder / unit_folder(unit.name)))
        return paths

    @cached_property
    def _sealed(self) -> Mapping[Path, tuple[str, str]]:
        """The level and the kernel source of each sealed object."""
        return {
            self._folder / sealed_name(cell.copy, cell.level): (cell.level, kernel.source)
            for kernel, cell in self.plan.copies()
        }

    @cached_property
    def _kernels(self) -> Mapping[str, str]:
        """The kernel source of each object of a level, sealed or not, by the object's resolved path."""
        compiled = CompiledObjects(self.plan)
        kernels = {os.path.realpath(path): kernel for path, (_, kernel) in self._sealed.items()}
        for paths in self.by_level.values():
            kernels |= {os.path.realpath(path): compiled.kernel_of(path)[1] for path in paths}
        return kernels

    @cached_property
    def others(self) -> tuple[Path, ...]:
        """The inputs of the link that are objects of no level."""
        objects = (path for path in self._others if is_object_name(path.name) and path.is_file())
        return tuple(path for path in objects if os.path.realpath(path) not in self._kernels)

    @cached_property
    def libraries(self) -> tuple[Path, ...]:
        """The inputs of the link that are static libraries."""
        return tuple(path for path in self._others if is_library_name(path.name) and path.is_file())

    def shown(self, path: Path) -> str:
        """Return the path of an object for reports."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return path.as_posix()

    def kernel(self, path: Path) -> str:
        """Return the kernel source of an object of a level; "" for other objects."""
        return self._kernels.get(os.path.realpath(path), "")

    def origin(self, symbol: str, level: str) -> tuple[str, str]:
        """Return the object and the kernel source of a function; "" for what is unknown."""
        path = self._definitions.get(level, {}).get(symbol)
        return (self.shown(path), self.kernel(path)) if path is not None else ("", "")

    @cached_property
    def _definitions(self) -> Mapping[str, Mapping[str, Path]]:
        """An object that defines each function, by level ("" if ordinary) and name. Sealed objects are preferred."""
        definitions: dict[str, dict[str, Path]] = {}
        sealed = [(level, path) for path, (level, _) in self._sealed.items() if path.is_file()]
        compiled = [(level, path) for level, paths in self.by_level.items() for path in paths]
        for level, path in (*sealed, *compiled, *(("", path) for path in self.others)):
            if is_binary(path):
                with open_binary(path) as binary:
                    for symbol in binary.symbols():
                        if symbol.defined and symbol.kind in CODE_KINDS:
                            definitions.setdefault(level, {}).setdefault(symbol.name, path)
        return definitions

    # ---- names

    @cached_property
    def registrations(self) -> Mapping[str, Registrations]:
        """The registrations of each level, which sealing wrote."""
        paths = {
            level: self._folder / registrations_name(level, self.plan.kernel_set) for level in self.plan.built_levels()
        }
        return {level: read_registrations(path) for level, path in paths.items() if path.is_file()}

    @cached_property
    def private_names(self) -> Mapping[str, tuple[str, ...]]:
        """The levels that define each private name that is not weak, by the name before sealing."""
        return _levels_by_name({level: file.private_names for level, file in self.registrations.items()})

    @cached_property
    def initialised_variables(self) -> Mapping[str, tuple[str, ...]]:
        """The levels that define each weak variable that code initialises, and each guard, by name before sealing."""
        return _levels_by_name({level: file.initialised_variables for level, file in self.registrations.items()})

    @cached_property
    def public_names(self) -> frozenset[str]:
        """The names in the levels' objects that are not private."""
        return frozenset().union(*(registrations.public_names for registrations in self.registrations.values()))

    def past_stubs(self, names: Collection[str]) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
        """Yield (object, name, levels) of each reference by an object of no level to a name of levels.

        Names of levels are sealed names, isagen's names of registrations and of the table of stubs, and those of
        `names` that sealing makes private. References from the table to registrations, and from the dispatch source to
        the table, are left out.
        """
        private = self.private_names.keys() & names
        prefixes = {KERNEL_SYMBOL.format(level=level.name): level.name for level in self.plan.levels}
        every = tuple(dict.fromkeys(prefixes.values()))
        for path in filter(is_binary, self.others):  # skips Clang's LTO objects
            symbols = load_object(path).symbols
            defined = [symbol.name for symbol in symbols if symbol.defined]
            is_table = any(name.startswith(UNREGISTERED_SYMBOL) for name in defined)
            is_dispatch = any(name.startswith(NO_LEVEL_SYMBOL) for name in defined)
            # Sealed objects of another set of kernels may use sealed names: they are names of that set.
            is_of_other_set = path.parent.suffix != ".p" and path.name.startswith(tuple(f"isa_{one}." for one in every))
            for name in (symbol.name for symbol in symbols if not symbol.defined):
                prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), "")
                if name in private:
                    yield path, name, self.private_names[name]
                elif prefix and not is_table:
                    yield path, name, (prefixes[prefix],)
                elif name.startswith(TABLE_SYMBOL) and not is_dispatch:
                    yield path, name, every
                elif not is_of_other_set:
                    yield from ((path, name, (level,)) for level in every if level_of_name(name) == level.lower())


def _levels_by_name(names: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    levels: dict[str, tuple[str, ...]] = {}
    for level, of_level in names.items():
        for name in dict.fromkeys(of_level):
            levels[name] = (*levels.get(name, ()), level)
    return levels


def linked_objects(inputs: Iterable[str], ninja: NinjaFile) -> Iterator[Path]:
    """Yield the inputs of a link. Static libraries and prelinked objects of this build are replaced by their inputs."""
    waiting, seen = list(inputs)[::-1], set[str]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        members: Sequence[str] = ()
        if is_library_name(path) or path.endswith(PRELINKED):
            members = ninja.inputs_of(Path(path))
        waiting += reversed(members)
        if not members:
            yield Path(path)
