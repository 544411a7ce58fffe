"""The objects that a build linked: the level, the kernel and the names of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path

from ..binary.formats import is_binary, is_library_name, is_object_name, load_object, objects_in, open_binary
from ..binary.protocol import CODE_KINDS, Binding, SymbolKind
from ..binary.sealing_protocol import ObjectFile
from ..model.names import (
    KERNEL_SYMBOL,
    NO_LEVEL_SYMBOL,
    TABLE_SYMBOL,
    UNREGISTERED_SYMBOL,
    is_sealed_name,
    registrations_name,
    sealed_name,
)
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Plan
from ..model.plan_file import outputs_folder, read_registrations
from ..model.registrations import Registrations


class BuildObjects:
    """The objects of a build: its levels', by the plan in `folder`, and the `others` that are linked with them.

    `root` is the folder from which paths are shown.
    """

    def __init__(self, plan: Plan, folder: Path, others: Iterable[Path], root: Path) -> None:
        self.plan = plan
        self.root = root
        self._folder = outputs_folder(folder)
        self._others = tuple(others)

    # ---- where they are

    @cached_property
    def by_level(self) -> Mapping[str, tuple[Path, ...]]:
        """The objects that Meson compiled from the copies of each level."""
        found: dict[str, list[Path]] = {}
        for unit in self.plan.units:
            folder = self._folder / unit_folder(unit.name)
            found.setdefault(unit.level, []).extend(objects_in(folder))
        return {level: tuple(paths) for level, paths in found.items()}

    @cached_property
    def _sealed(self) -> Mapping[Path, tuple[str, str]]:
        """The level and the kernel of each sealed object."""
        return {
            placed(self._folder / sealed_name(cell.copy, cell.level)): (cell.level, kernel.source)
            for kernel, cell in self.plan.copies()
        }

    @cached_property
    def _levels(self) -> Mapping[Path, str]:
        """The level of each object that Meson compiled from a copy."""
        return {placed(path): level for level, paths in self.by_level.items() for path in paths}

    @cached_property
    def _compiled(self) -> CompiledObjects:
        return CompiledObjects(self.plan)

    @cached_property
    def others(self) -> tuple[Path, ...]:
        """The objects of no level."""
        found = (path for path in self._others if is_object_name(path.name) and path.is_file())
        return tuple(path for path in found if not self.level(path))

    def shown(self, path: Path) -> str:
        """Return the path of an object for reports."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return path.as_posix()

    def kernel(self, path: Path) -> str:
        """Return the kernel source behind an object of a level; nothing for other objects."""
        return self._sealed.get(placed(path), ("", ""))[1] or self._compiled.kernel_of(path)[1]

    def level(self, path: Path) -> str:
        """Return the level of an object; nothing for other objects."""
        at = placed(path)
        return self._sealed.get(at, ("", ""))[0] or self._levels.get(at, "")

    def place(self, symbol: str, level: str) -> Path | None:
        """Return the object that defines a function of a level, or of none: the sealed one, if there is one."""
        return self._definitions.get(level, {}).get(symbol)

    def origin(self, symbol: str, level: str) -> tuple[str, str]:
        """Return the object and the kernel that a function comes from (`subject.Origin`)."""
        path = self.place(symbol, level)
        return (self.shown(path), self.kernel(path)) if path is not None else ("", "")

    @cached_property
    def _definitions(self) -> Mapping[str, Mapping[str, Path]]:
        """By level, or of none, the object that defines each function."""
        found: dict[str, dict[str, Path]] = {}
        sealed = [(level, path) for path, (level, _) in self._sealed.items() if path.is_file()]
        compiled = [(level, path) for level, paths in self.by_level.items() for path in paths]
        for level, path in (*sealed, *compiled, *(("", path) for path in self.others)):
            for name in functions_of(path) if is_binary(path) else ():
                found.setdefault(level, {}).setdefault(name, path)
        return found

    # ---- names

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of all functions that the levels' objects define."""
        return frozenset().union(*(functions_of(path) for paths in self.by_level.values() for path in paths))

    @cached_property
    def _registrations(self) -> Mapping[str, Registrations]:
        """What sealing found in the objects of each level."""
        paths = {
            level: self._folder / registrations_name(level, self.plan.kernel_set) for level in self.plan.built_levels()
        }
        return {level: read_registrations(path) for level, path in paths.items() if path.is_file()}

    @cached_property
    def private(self) -> Mapping[str, tuple[str, ...]]:
        """The private names, as in kernel sources, each with the levels that define it."""
        return _by_name((name, level) for level, found in self._registrations.items() for name in found.private_names)

    @cached_property
    def initialised(self) -> Mapping[str, tuple[str, ...]]:
        """The variables that code of levels initialises, by name as in kernel sources, each with its levels."""
        return _by_name(
            (name, level) for level, found in self._registrations.items() for name in found.initialised_variables
        )

    @cached_property
    def known(self) -> frozenset[str]:
        """The names of levels' objects that are not private."""
        return frozenset().union(*(found.public_names for found in self._registrations.values()))

    @cached_property
    def variables(self) -> Mapping[str, Mapping[str, str]]:
        """The names of global data that levels define, each with the kernel that defines it, by level."""
        found: dict[str, dict[str, str]] = {}
        for path, (level, source) in self._sealed.items():
            for symbol in load_object(path).symbols if path.is_file() else ():
                data = symbol.defined and not symbol.code and symbol.binding == Binding.GLOBAL
                if data and symbol.kind != SymbolKind.COMMON and not is_sealed_name(symbol.name, level):
                    found.setdefault(symbol.name, {})[level] = source
        return found

    def past_stubs(self, names: Collection[str]) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
        """Yield where objects of no level refer to levels by name: (object, name, levels).

        The names are those of `names` that are private to levels, those that sealing gives, registrations, which the
        table of stubs alone may refer to, and this table, which the dispatch source alone may.
        """
        names = self.private.keys() & names
        starts = {KERNEL_SYMBOL.format(level=level.name): level.name for level in self.plan.levels}
        every = tuple(dict.fromkeys(starts.values()))
        marks = [*names, *starts, TABLE_SYMBOL, *(f".{level.lower()}." for level in every)]
        for path in self.others:
            file = _object_with(path, marks)
            if file is None:
                continue
            defined = [one.name for one in file.symbols if one.defined]
            is_table = any(name.startswith(UNREGISTERED_SYMBOL) for name in defined)
            is_dispatch = any(name.startswith(NO_LEVEL_SYMBOL) for name in defined)
            for symbol in (one.name for one in file.symbols if not one.defined):
                start = next((start for start in starts if symbol.startswith(start)), "")
                if symbol in names:
                    yield path, symbol, self.private[symbol]
                elif start and not is_table:
                    yield path, symbol, (starts[start],)
                elif symbol.startswith(TABLE_SYMBOL) and not is_dispatch:
                    yield path, symbol, every
                elif not self._is_of_other_set(path) and (
                    level := next((level for level in every if is_sealed_name(symbol, level)), "")
                ):
                    yield path, symbol, (level,)

    def shared_with_levels(self) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
        """Yield the variables of which levels and ordinary code each have their own: (object, name, levels)."""
        for path in self.others if self.initialised else ():
            file = _object_with(path, self.initialised)
            for symbol in file.symbols if file is not None else ():
                if symbol.defined and symbol.name in self.initialised:
                    yield path, symbol.name, self.initialised[symbol.name]

    def _is_of_other_set(self, path: Path) -> bool:
        """Return whether an object is a sealed one of another set."""
        starts = tuple(f"isa_{level.name}." for level in self.plan.levels)
        return path.parent.suffix != ".p" and path.name.startswith(starts)


def placed(path: Path) -> Path:
    """Return an object's path without symbolic links; folders are resolved once."""
    return path.resolve() if path.is_symlink() else _placed(path.parent) / path.name


@cache
def _placed(folder: Path) -> Path:
    return folder.resolve()


def _by_name(found: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    names: dict[str, dict[str, None]] = {}
    for name, level in found:
        names.setdefault(name, {})[level] = None
    return {name: tuple(levels) for name, levels in names.items()}


def _object_with(path: Path, marks: Iterable[str]) -> ObjectFile | None:
    """Return an object whose bytes contain one of the `marks`; None for others, and for unknown formats."""
    raw = path.read_bytes()
    if not any(mark.encode(errors="surrogateescape") in raw for mark in marks) or not is_binary(path):
        return None  # Clang's LTO objects have a format of their own
    return load_object(path)


def expand(paths: Iterable[str]) -> Iterator[Path]:
    """Yield objects: those named, and those of Meson's static libraries, which are in a folder beside them."""
    for path in paths:
        if is_library_name(path):
            yield from objects_in(Path(f"{path}.p"))
        else:
            yield Path(path)


def functions_of(path: Path) -> frozenset[str]:
    """Return the names of all functions that an object defines."""
    with open_binary(path) as binary:
        return frozenset(binary.name(s) for s in binary.symbols() if s.defined and s.kind in CODE_KINDS)
