"""Finding build matrices: in build folders, binaries, wheels, installed modules and folders of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import util
from importlib.machinery import PathFinder
from pathlib import Path

from ..audit.builds import is_build
from ..audit.files import WHEEL, files_in, other_format, unpacked
from ..binary.formats import is_binary, open_binary
from ..model.errors import ProjectError
from ..model.matrix import Matrix
from ..model.names import PLAN
from ..model.plan_file import plans_in
from .built import built_matrix, matrices_in

WANTED = "give a build folder, a binary, a wheel, a folder of them, or the name of a module that this Python finds"


@dataclass(frozen=True)
class Found:
    """A matrix, and how output names the place where it is.

    `plan` is the plan file of a build folder. `module` is the name by which Python imports a binary, where one was
    asked for.
    """

    label: str
    matrix: Matrix
    plan: Path | None = None
    module: str = ""


def find_matrices(where: str) -> list[Found]:
    """Return the matrices at a build folder, binary, wheel, folder of binaries, or of an installed module.

    Raises `ProjectError` where there is none, and `AuditError` where a binary or wheel cannot be read.
    """
    if not where:  # a path of no name is the current folder's
        raise ProjectError("is empty", where="WHERE", remedy=WANTED)
    path = Path(where)
    if path.is_dir():
        if plans := list(plans_in(path)):
            return [Found(where if len(plans) == 1 else _label(plan), built_matrix(plan), plan) for plan in plans]
        found = list(_in_folder(path))
        if not found and _located(where) not in (None, path.resolve()):  # a module whose name a folder here has too
            return _in_module(where)
        return _some(found, where, files_in(path))
    if path.suffix == WHEEL and path.is_file():
        with unpacked(path) as folder:
            return _some(_in_folder(folder), where, files_in(folder))
    if PLAN.fullmatch(path.name) and path.is_file():
        return [Found(where, built_matrix(path), path)]
    if path.is_file():
        return _some(_in_binary(path, where), where, [path])
    return _in_module(where)


def _label(plan: Path) -> str:
    """Return how output names one of several plans: by its folder, and its set of kernels."""
    found = PLAN.fullmatch(plan.name)
    return f"{plan.parent} ({found[1]})" if found and found[1] else str(plan.parent)


def _in_folder(folder: Path) -> Iterator[Found]:
    """Yield the matrices in the binaries below a folder."""
    for path in files_in(folder):
        yield from _in_binary(path, path.relative_to(folder).as_posix())


def _in_binary(path: Path, label: str, module: str = "") -> Iterator[Found]:
    if is_binary(path):
        with open_binary(path, label) as binary:
            for matrix in matrices_in(binary):
                yield Found(label, matrix, module=module)


def _in_module(name: str) -> list[Found]:
    """Return the matrices of an installed module, or of the extension modules in an installed package."""
    place = _located(name)
    if place is None:
        raise ProjectError(
            "is no folder, file or installed module",
            where=name,
            remedy=WANTED,
        )
    if place.is_dir():
        found: list[Found] = []
        for path in files_in(place):
            module = ".".join((name, *path.relative_to(place).parts[:-1], path.name.partition(".")[0]))
            found += _in_binary(path, module, module)
        return _some(found, name, files_in(place))
    return _some(_in_binary(place, name, name), name, [place])


def _located(name: str) -> Path | None:
    """Return the folder or file of a module; none of the packages above it is imported."""
    first, *rest = name.split(".")
    if not all(part.isidentifier() for part in (first, *rest)):
        return None
    try:
        spec = util.find_spec(first)
        full = first
        for part in rest:
            if spec is None or spec.submodule_search_locations is None:
                return None
            full = f"{full}.{part}"
            spec = PathFinder.find_spec(full, list(spec.submodule_search_locations))
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return Path(next(iter(spec.submodule_search_locations)))
    return Path(spec.origin) if spec.origin is not None and Path(spec.origin).is_file() else None


def _some(found: Iterable[Found], where: str, files: Iterable[Path]) -> list[Found]:
    """Return what was found; raise `ProjectError`, which says what is there instead, if that is nothing."""
    if some := list(found):
        return some
    files = list(files)
    binaries = sum(map(is_binary, files))
    formats = sorted({name for path in files if (name := other_format(path))})
    if is_build(Path(where)):
        said, remedy = (
            "is a build folder of Meson without a plan of isagen",
            "configuring failed, or the project does not use isagen: see what `meson setup` says",
        )
    elif binaries:
        said = f"{'its binary holds' if binaries == 1 else f'its {binaries} binaries hold'} no build matrix of isagen"
        remedy = "they are built without isagen, or by one that is older than this; give the build folder"
    elif formats:
        said, remedy = f"its binaries are of {' and '.join(formats)}, which isagen does not read", ""
    else:
        said, remedy = (
            "no build of isagen is here",
            "configure the project first, and give its build folder: meson setup BUILD_DIR",
        )
    raise ProjectError(said, where=where, remedy=remedy)
