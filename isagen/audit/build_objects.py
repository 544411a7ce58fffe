"""The objects that a build linked: the level and the kernel of each, and the functions that they define."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

from ..binary.formats import is_binary, load_object, open_binary
from ..binary.private_names import name_in_source
from ..binary.protocol import CODE_KINDS, Binding, NamedSymbol
from ..model.names import KERNEL_SYMBOL, SEALED, UNREGISTERED_SYMBOL, copy_of_object, sealed_name
from ..model.plan import Plan
from ..model.plan_file import outputs_folder

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from pathlib import Path


class BuildObjects:
    """The objects of a build: its levels', by the plan in `folder`, and the `others` that are linked with them.

    `root` is the folder from which paths are shown.
    """

    def __init__(self, plan: Plan, folder: Path, others: Iterable[Path], root: Path) -> None:
        self.plan = plan
        self.root = root
        self._folder = outputs_folder(folder)
        self._others = tuple(others)
        self._folders: dict[Path, Path] = {}  # those of objects, without symbolic links
        self._sources = {cell.copy: kernel.source for kernel, cell in plan.copies()}

    @cached_property
    def by_level(self) -> Mapping[str, tuple[Path, ...]]:
        """The objects that Meson compiled from the copies of each level."""
        found: dict[str, list[Path]] = {}
        for unit in self.plan.units:
            folder = self._folder / f"lib{unit.name}.a.p"
            found.setdefault(unit.level, []).extend(sorted(folder.glob("*.o")))
        return {level: tuple(paths) for level, paths in found.items()}

    @cached_property
    def _sealed(self) -> Mapping[Path, tuple[str, str]]:
        """The sealed objects, each with its level and its kernel."""
        return {
            self._folder / sealed_name(cell.copy, cell.level): (cell.level, kernel.source)
            for kernel, cell in self.plan.copies()
        }

    @cached_property
    def _levels(self) -> Mapping[Path, str]:
        """The level of each object that Meson compiled from a copy."""
        return {self._placed(path): level for level, paths in self.by_level.items() for path in paths}

    @cached_property
    def _kernels(self) -> Mapping[Path, str]:
        """The kernel of each sealed object."""
        return {self._placed(path): kernel for path, (_, kernel) in self._sealed.items()}

    @cached_property
    def _levels_of_sealed(self) -> Mapping[Path, str]:
        """The level of each sealed object."""
        return {self._placed(path): level for path, (level, _) in self._sealed.items()}

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of all functions that the levels' objects define."""
        return frozenset().union(*(functions_of(path) for paths in self.by_level.values() for path in paths))

    @cached_property
    def private(self) -> Mapping[str, tuple[str, ...]]:
        """The names, as in kernel sources, that only one level or more than one define, each for itself; its levels."""
        found: dict[str, dict[str, None]] = {}
        for level, symbol in self._sealed_symbols:
            if symbol.defined and symbol.binding == Binding.GLOBAL and _is_sealed(symbol.name, level):
                found.setdefault(name_in_source(symbol.name), {})[level] = None
        return {name: tuple(levels) for name, levels in found.items()}

    @cached_property
    def variables(self) -> Mapping[str, Mapping[str, str]]:
        """The names of data that levels define, and that no linker would merge; by level, the kernel that does so."""
        found: dict[str, dict[str, str]] = {}
        for path, (level, source) in self._sealed.items():
            for symbol in load_object(path).symbols if path.is_file() else ():
                data = symbol.defined and not symbol.code and symbol.binding == Binding.GLOBAL
                if data and not _is_sealed(symbol.name, level):
                    found.setdefault(symbol.name, {})[level] = source
        return found

    @cached_property
    def known(self) -> frozenset[str]:
        """The names by which code of levels refers to what others know, and that others may refer to."""
        return frozenset(symbol.name for level, symbol in self._sealed_symbols if not _is_sealed(symbol.name, level))

    @cached_property
    def _sealed_symbols(self) -> list[tuple[str, NamedSymbol]]:
        """The symbols of the sealed objects that are not local, each with its level."""
        found = ((level, path) for path, (level, _) in self._sealed.items() if path.is_file())
        return [(level, symbol) for level, path in found for symbol in load_object(path).symbols]

    def read_ahead(self) -> None:
        """Read what an audit asks of sealed objects, before their link is done; nothing where none is linked."""
        if len(self.others) < len(self._others):
            self.known  # noqa: B018  the answer is kept

    def past_stubs(self, names: Collection[str]) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
        """Yield where objects of no level refer to levels by name: (object, name, levels).

        The names are those of `names` that are private to levels, those that sealing gives, and registrations, which
        the dispatch source alone may refer to.
        """
        names = self.private.keys() & names
        levels = [level.name for level in self.plan.levels]
        starts = {KERNEL_SYMBOL.format(level=level): level for level in levels}
        # Most objects have none of them, which takes less time to see in their bytes.
        marks = [*starts, *(f".{level.lower()}." for level in levels), *names]
        for path in self.others:
            raw = path.read_bytes()
            if not any(mark.encode(errors="surrogateescape") in raw for mark in marks) or not is_binary(path):
                continue  # Clang's objects for link-time optimisation are of a format of its own
            symbols = load_object(path).symbols
            other_set = not path.parent.name.endswith(".p") and path.name.startswith(tuple(f"isa_{x}." for x in levels))
            dispatch = any(symbol.defined and symbol.name.startswith(UNREGISTERED_SYMBOL) for symbol in symbols)
            for symbol in symbols:
                if symbol.defined:
                    continue
                start = next((start for start in starts if symbol.name.startswith(start)), "")
                if symbol.name in names:
                    yield path, symbol.name, self.private[symbol.name]
                elif start and not dispatch:
                    yield path, symbol.name, (starts[start],)
                elif other_set:  # a sealed object, whose names are another plan's
                    continue
                elif level := next((level for level in levels if _is_sealed(symbol.name, level)), ""):
                    yield path, symbol.name, (level,)

    @cached_property
    def _places(self) -> Mapping[str, Mapping[str, Path]]:
        """By level, or of none, the object that defines each function: the sealed one of a level, if there is one."""
        found: dict[str, dict[str, Path]] = {}
        for path, (level, _) in self._sealed.items():
            if path.is_file():
                _add(found.setdefault(level, {}), path)
        for level, paths in self.by_level.items():
            for path in paths if level not in found else ():
                _add(found.setdefault(level, {}), path)
        for path in self.others:
            _add(found.setdefault("", {}), path)
        return found

    @cached_property
    def others(self) -> tuple[Path, ...]:
        """The objects of no level."""
        others = (path for path in self._others if self._found(self._levels, path) is None)
        others = (path for path in others if self._found(self._kernels, path) is None)
        return tuple(path for path in others if path.suffix == ".o" and path.is_file())

    def shown(self, path: Path) -> str:
        """Return how a report names an object."""
        try:
            return path.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            return path.as_posix()

    def kernel(self, path: Path) -> str:
        """Return the kernel source behind an object of a level; nothing for other objects."""
        known = self._found(self._kernels, path)
        if known is not None:
            return known
        return self._sources.get(copy_of_object(path.name), "")

    def level(self, path: Path) -> str:
        """Return the level of an object; nothing for other objects."""
        return self._found(self._levels, path) or self._found(self._levels_of_sealed, path) or ""

    def _found(self, known: Mapping[Path, str], path: Path) -> str | None:
        """Return what is `known` of an object by its place; a link to it has another."""
        found = known.get(self._placed(path))
        return found if found is not None else known.get(path.resolve()) if path.is_symlink() else None

    def _placed(self, path: Path) -> Path:
        """Return a path in its folder without symbolic links: thousands of objects are in few folders."""
        folder = self._folders.get(path.parent)
        if folder is None:
            folder = self._folders[path.parent] = path.parent.resolve()
        return folder / path.name

    def origin(self, symbol: str, level: str) -> tuple[str, str]:
        """Return the object and the kernel that a function comes from (`subject.Origin`)."""
        path = self._places.get(level, {}).get(symbol)
        return (self.shown(path), self.kernel(path)) if path is not None else ("", "")


def _is_sealed(name: str, level: str) -> bool:
    """Return whether a name is private to a sealed level."""
    return re.search(SEALED.format(level=re.escape(level.lower())), name) is not None


def _add(found: dict[str, Path], path: Path) -> None:
    for name in functions_of(path):
        found.setdefault(name, path)


def expand(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield objects: those named, and those of Meson's static libraries, which are in a folder beside them."""
    for path in paths:
        if path.suffix == ".a":
            yield from sorted(path.with_name(path.name + ".p").glob("*.o"))
        else:
            yield path


def functions_of(path: Path) -> frozenset[str]:
    """Return the names of all functions that an object defines."""
    with open_binary(path) as binary:
        return frozenset(binary.name(s) for s in binary.symbols() if s.defined and s.kind in CODE_KINDS)


@cache
def borrowable(path: Path) -> frozenset[str]:
    """Return the weak code and constants of an object, which a linker may take for those of other objects."""
    return frozenset(symbol.name for symbol in load_object(path).private_symbols)
