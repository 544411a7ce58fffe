"""The objects that a build linked: the level and the kernel of each, and the functions that they define."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache, cached_property

from ..binary.formats import is_binary, load_object, open_binary
from ..binary.protocol import CODE_KINDS, Binding
from ..model.frozen import dataclass
from ..model.names import KERNEL_SYMBOL, UNREGISTERED_SYMBOL, is_sealed_name, sealed_name
from ..model.objects import CompiledObjects, unit_folder
from ..model.plan import Plan
from ..model.plan_file import outputs_of
from .sealed_names import sealed_names

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from pathlib import Path

    from ..model.files import AnyPath
    from .sealed_names import Names


class BuildObjects:
    """The objects of a build: its levels', by the plan in `folder`, and the `others` that are linked with them.

    `root` is the folder from which paths are shown, and `kept_in` the file that keeps what was read of sealed objects.
    """

    def __init__(
        self, plan: Plan, folder: AnyPath, others: Iterable[AnyPath], root: AnyPath, kept_in: str = ""
    ) -> None:
        self.plan = plan
        self.root = root
        self._place = outputs_of(os.fspath(folder)) or os.fspath(folder)
        self._others = tuple(os.fspath(path) for path in others)
        self._kept_in = kept_in
        self._folders: dict[str, str] = {}  # those of objects, without symbolic links
        self._marked: dict[str, _Marked | None] = {}

    @cached_property
    def _folder(self) -> Path:
        """The folder of the objects; links whose names were kept need no more than its name."""
        from pathlib import Path

        return Path(self._place)

    @cached_property
    def by_level(self) -> Mapping[str, tuple[Path, ...]]:
        """The objects that Meson compiled from the copies of each level."""
        found: dict[str, list[Path]] = {}
        for unit in self.plan.units:
            folder = self._folder / unit_folder(unit.name)
            found.setdefault(unit.level, []).extend(sorted(folder.glob("*.o")))
        return {level: tuple(paths) for level, paths in found.items()}

    @cached_property
    def _compiled(self) -> CompiledObjects:
        return CompiledObjects(self.plan)

    @cached_property
    def _sealed(self) -> Mapping[Path, tuple[str, str]]:
        """The sealed objects, each with its level and its kernel."""
        return {
            self._folder / sealed_name(cell.copy, cell.level): (cell.level, kernel.source)
            for kernel, cell in self.plan.copies()
        }

    @cached_property
    def _levels(self) -> Mapping[str, str]:
        """The level of each object that Meson compiled from a copy."""
        return {self._placed(path): level for level, paths in self.by_level.items() for path in paths}

    @cached_property
    def _kernels(self) -> Mapping[str, str]:
        """The kernel of each sealed object."""
        folder = os.path.realpath(self._place)
        found = ((sealed_name(cell.copy, cell.level), kernel.source) for kernel, cell in self.plan.copies())
        return {os.path.join(folder, name): source for name, source in found}

    @cached_property
    def _levels_of_sealed(self) -> Mapping[str, str]:
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
        levels = self._sealed_files
        for path, (_, private) in self._sealed_names.items():
            for name in private:
                found.setdefault(name, {})[levels[path]] = None
        return {name: tuple(levels) for name, levels in found.items()}

    @cached_property
    def variables(self) -> Mapping[str, Mapping[str, str]]:
        """The names of data that levels define, and that no linker would merge; by level, the kernel that does so."""
        found: dict[str, dict[str, str]] = {}
        for path, (level, source) in self._sealed.items():
            for symbol in load_object(path).symbols if path.is_file() else ():
                data = symbol.defined and not symbol.code and symbol.binding == Binding.GLOBAL
                if data and not is_sealed_name(symbol.name, level):
                    found.setdefault(symbol.name, {})[level] = source
        return found

    @cached_property
    def known(self) -> frozenset[str]:
        """The names by which code of levels refers to what others know, and that others may refer to."""
        return frozenset().union(*(known for known, _ in self._sealed_names.values()))

    @cached_property
    def _sealed_names(self) -> Mapping[str, Names]:
        """The names in each sealed object."""
        return sealed_names(self._sealed_files, self._kept_in)

    @cached_property
    def _sealed_files(self) -> Mapping[str, str]:
        """The level of each sealed object, by its path as text."""
        found = ((sealed_name(cell.copy, cell.level), cell.level) for _, cell in self.plan.copies())
        return {os.path.join(self._place, name): level for name, level in found}

    def read_ahead(self) -> None:
        """Read what an audit asks of objects, before their link is done; nothing where no sealed one is linked."""
        if len(self._of_no_level) < len(self._others):
            self.known, self.private  # noqa: B018  the answers are kept
            for path in self._of_no_level:
                self._with_marks(path)

    def past_stubs(self, names: Collection[str]) -> Iterator[tuple[Path, str, tuple[str, ...]]]:
        """Yield where objects of no level refer to levels by name: (object, name, levels).

        The names are those of `names` that are private to levels, those that sealing gives, and registrations, which
        the table of stubs alone may refer to.
        """
        names = self.private.keys() & names
        starts = {KERNEL_SYMBOL.format(level=level.name): level.name for level in self.plan.levels}
        for path in self._of_no_level:
            # Most objects have none of them, which takes less time to see in their bytes.
            marked = self._with_marks(path) or (_marked(path, [*names]) if names else None)
            if marked is None:
                continue
            for symbol in marked.undefined:
                start = next((start for start in starts if symbol.startswith(start)), "")
                if symbol in names:
                    found = self.private[symbol]
                elif start and not marked.table:
                    found = (starts[start],)
                elif self._is_of_other_set(path):  # a sealed object, whose names are another plan's
                    continue
                elif level := next((level for level in starts.values() if is_sealed_name(symbol, level)), ""):
                    found = (level,)
                else:
                    continue
                from pathlib import Path  # most links refer to none

                yield Path(path), symbol, found

    def _with_marks(self, path: str) -> _Marked | None:
        """Return an object whose bytes may hold names of levels; None for others."""
        if path not in self._marked:
            levels = [level.name for level in self.plan.levels]
            starts = [KERNEL_SYMBOL.format(level=level) for level in levels]
            self._marked[path] = _marked(path, [*starts, *(f".{level.lower()}." for level in levels)])
        return self._marked[path]

    def _is_of_other_set(self, path: str) -> bool:
        starts = tuple(f"isa_{level.name}." for level in self.plan.levels)
        folder, name = os.path.split(path)
        return not folder.endswith(".p") and name.startswith(starts)

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
        from pathlib import Path

        return tuple(map(Path, self._of_no_level))

    @cached_property
    def _of_no_level(self) -> tuple[str, ...]:
        """The objects of no level, as text."""
        others = (path for path in self._others if self._found(self._kernels, path) is None)
        others = (path for path in others if not self._is_in_unit(path) or self._found(self._levels, path) is None)
        return tuple(path for path in others if os.path.splitext(path)[1] == ".o" and os.path.isfile(path))

    def _is_in_unit(self, path: str) -> bool:
        """Return whether an object may be one that Meson compiled from a copy, by its folder; links are anywhere."""
        return os.path.dirname(self._placed(path)) in self._unit_folders or os.path.islink(path)

    @cached_property
    def _unit_folders(self) -> frozenset[str]:
        """The folders of the objects that Meson compiles from copies."""
        return frozenset(os.path.realpath(f"{self._place}/{unit_folder(unit.name)}") for unit in self.plan.units)

    def shown(self, path: Path) -> str:
        """Return how a report names an object."""
        from pathlib import Path  # most audits show none

        try:
            return path.resolve().relative_to(Path(self.root).resolve()).as_posix()
        except ValueError:
            return path.as_posix()

    def kernel(self, path: Path) -> str:
        """Return the kernel source behind an object of a level; nothing for other objects."""
        known = self._found(self._kernels, path)
        if known is not None:
            return known
        return self._compiled.kernel_of(path)[1]

    def level(self, path: Path) -> str:
        """Return the level of an object; nothing for other objects."""
        return self._found(self._levels, path) or self._found(self._levels_of_sealed, path) or ""

    def _found(self, known: Mapping[str, str], path: AnyPath) -> str | None:
        """Return what is `known` of an object by its place; a link to it has another."""
        found = known.get(self._placed(path))
        return found if found is not None else known.get(os.path.realpath(path)) if os.path.islink(path) else None

    def _placed(self, path: AnyPath) -> str:
        """Return a path in its folder without symbolic links: thousands of objects are in few folders."""
        place, name = os.path.split(path)
        folder = self._folders.get(place)
        if folder is None:
            folder = self._folders[place] = os.path.realpath(place)
        return os.path.join(folder, name)

    def origin(self, symbol: str, level: str) -> tuple[str, str]:
        """Return the object and the kernel that a function comes from (`subject.Origin`)."""
        path = self._places.get(level, {}).get(symbol)
        return (self.shown(path), self.kernel(path)) if path is not None else ("", "")


@dataclass(frozen=True)
class _Marked:
    """An object of no level: the names that it does not define, and whether it holds the table of stubs."""

    undefined: tuple[str, ...]
    table: bool


def _marked(path: str, marks: Iterable[str]) -> _Marked | None:
    """Return an object whose bytes hold one of the `marks`; None for others, and for those of no known format."""
    with open(path, "rb") as stream:
        raw = stream.read()
    if not any(mark.encode(errors="surrogateescape") in raw for mark in marks) or not is_binary(path):
        return None  # Clang's objects for link-time optimisation are of a format of its own
    symbols = load_object(path).symbols
    table = any(symbol.defined and symbol.name.startswith(UNREGISTERED_SYMBOL) for symbol in symbols)
    return _Marked(tuple(symbol.name for symbol in symbols if not symbol.defined), table)


def _add(found: dict[str, Path], path: Path) -> None:
    for name in functions_of(path):
        found.setdefault(name, path)


def expand(paths: Iterable[str]) -> Iterator[str]:
    """Yield objects: those named, and those of Meson's static libraries, which are in a folder beside them."""
    for path in paths:
        if path.endswith(".a"):
            from pathlib import Path  # kernels are linked without archives

            yield from map(str, sorted(Path(f"{path}.p").glob("*.o")))
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
