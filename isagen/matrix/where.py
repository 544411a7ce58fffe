"""Finds build matrices: in builds, binaries, wheels and folders of them, and in installed modules."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path

from ..audit.builds import MESON_FOLDER, build_of, is_build
from ..audit.files import UNIVERSAL, WHEEL, files_in, other_format, unpacked
from ..binary.formats import is_binary, open_binary
from ..model.errors import IsagenError, ProjectError
from ..model.matrix import Matrix
from ..model.names import PLAN
from ..model.plan_file import plans_in
from .built import built_matrix, matrices_in

WANTED = (
    "give a build folder, a binary, a wheel, a folder of builds, binaries or wheels, "
    "or the name of a module that this Python finds"
)
OUTDATED = "its last `meson setup` failed, so this may not be what the project's files now ask for"


@dataclass(frozen=True)
class Found:
    """A matrix, and the label that names it in the output.

    `plan` is the plan file if the matrix is made from one, as for an editable module. `module` is the full name of the
    module if the matrix is read from the file of an installed module.
    """

    label: str
    matrix: Matrix
    plan: Path | None = None
    module: str = ""


def find_matrices(where: str) -> list[Found]:
    """Return the matrices of `where`: a plan file, a binary, a wheel, a folder, or the name of an installed module.

    A folder is a build folder, or contains builds, binaries or wheels. Raises `ProjectError` if there is no matrix,
    `AuditError` if a binary or wheel cannot be read, and `PlanError` if there are plans but none can be read.
    """
    if not where:  # as a path, it would be the current folder
        raise ProjectError("is empty", where="WHERE", remedy=WANTED)
    path = Path(where)
    if path.is_dir() and (plans := list(plans_in(path))):
        return _in_builds(where, plans)
    if PLAN.fullmatch(path.name) and path.is_file():
        return _in_builds(where, [path])
    if path.suffix == WHEEL and path.is_file():
        with unpacked(path) as folder:
            return _in_files(where, _relative(folder))
    files = _relative(path) if path.is_dir() else {path: where} if path.is_file() else {}
    if not any(is_binary(file) or file.suffix == WHEEL for file in files) and not path.is_file():
        # `where` may be the name of a module, even if a folder without binaries here has this name.
        if plans := _editable_plans(*where.split(".")):
            return _in_builds(where, plans)
        if module := _located(where):
            inside = _relative(module) if module.is_dir() else {}
            names = {file: ".".join((where, *name.partition(".")[0].split("/"))) for file, name in inside.items()}
            return _in_files(where, names or {module: where}, modules=True)
    if not path.exists():
        raise ProjectError(
            "is no folder, file or installed module", where=where, remedy=_modules_of(where) or _wanted()
        )
    return _in_files(where, files)


def selectable_matrices(where: str) -> list[Matrix]:
    """Return the matrices of `find_matrices` with an override variable. Raises `ProjectError` if there is none."""
    matrices = [found.matrix for found in find_matrices(where) if found.matrix.override]
    if not matrices:
        message = "its level cannot be chosen: isa.toml has no override"
        raise ProjectError(message, where=where, remedy='set override = "NAME_ISA" and build it')
    return matrices


def _in_builds(where: str, plans: Sequence[Path]) -> list[Found]:
    """Return the matrices of builds. Warn of outdated and unreadable plans; if none can be read, raise an error."""
    found: list[Found] = []
    problems: list[IsagenError] = []
    for plan in plans:
        name = PLAN.fullmatch(plan.name)
        kernel_set = f" ({name[1]})" if name and name[1] else ""
        label = where if len(plans) == 1 else f"{plan.parent}{kernel_set}"
        try:
            found.append(Found(label, built_matrix(plan), plan))
        except IsagenError as error:
            problems.append(error)
            continue
        if _failed_since(plan):
            print(f"isagen: warning: {label}: {OUTDATED}", file=sys.stderr)
    if not found:
        raise problems[0]
    for problem in problems:
        print(f"isagen: warning: {problem}", file=sys.stderr)
    return found


def _failed_since(plan: Path) -> bool:
    """Return whether the last `meson setup` of a plan's build failed: Meson then leaves older files in place."""
    build = build_of(plan)
    if build is not None:
        with suppress(OSError, ValueError):
            return bool(json.loads((build / MESON_FOLDER / "meson-info.json").read_text("utf-8")).get("error"))
    return False


def _editable_plans(package: str, *rest: str) -> list[Path]:
    """Return the plans in the build folder of a package that meson-python installed editable (PEP 660).

    The finder that meson-python adds to this Python knows the folder. The finder is not called, because it would
    rebuild the project.
    """
    names = {rest[-1] + suffix for suffix in EXTENSION_SUFFIXES} if rest else set()
    for finder in sys.meta_path:
        if package in getattr(finder, "_top_level_modules", ()):
            build = Path(getattr(finder, "_build_path", ""))
            if not rest or any(path.name in names for path in files_in(build)):
                return list(plans_in(build))
    return []


def _relative(folder: Path) -> dict[Path, str]:
    return {path: path.relative_to(folder).as_posix() for path in files_in(folder)}


def _in_files(where: str, labels: Mapping[Path, str], modules: bool = False) -> list[Found]:
    """Return the matrices in files, with their `labels`. Raises `ProjectError` if there is none."""
    found = list(_matrices(labels, modules))
    if not found:
        raise _nothing(where, list(labels))
    return found


def _matrices(labels: Mapping[Path, str], modules: bool) -> Iterator[Found]:
    for path, label in labels.items():
        if is_binary(path):
            with open_binary(path, label) as binary:
                for matrix in matrices_in(binary):
                    yield Found(label, matrix, module=label if modules else "")
        elif path.suffix == WHEEL and not modules:
            with unpacked(path) as folder:
                yield from _matrices({file: f"{label}/{name}" for file, name in _relative(folder).items()}, modules)


def _located(name: str) -> Path | None:
    """Return the folder or file of the module `name`; None if it is not found. Nothing is imported.

    Inside packages, only packages and extension modules are found.
    """
    first, *rest = name.split(".")
    spec = PathFinder.find_spec(first) if all(part.isidentifier() for part in (first, *rest)) else None
    if spec is None:
        return None
    place = Path(next(iter(spec.submodule_search_locations or ()), spec.origin or "")).joinpath(*rest)
    files = (place.with_name(place.name + suffix) for suffix in EXTENSION_SUFFIXES if rest)
    return next((path for path in (place, *files) if path.exists()), None)


def _nothing(where: str, files: Sequence[Path]) -> ProjectError:
    binaries = sum(map(is_binary, files))
    if is_build(Path(where)):
        message = "is a build folder of Meson without a plan of isagen"
        remedy = "configuring failed, or the project does not use isagen: see what `meson setup` says"
    elif binaries:
        message = f"{'its binary has' if binaries == 1 else f'its {binaries} binaries have'} no build matrix of isagen"
        remedy = "built without isagen, or by an older version of it; give the build folder"
    elif UNIVERSAL in map(other_format, files):
        message = f"its binaries are {UNIVERSAL} files, which isagen does not read"
        remedy = "take a part of a universal file: lipo -thin arm64 FILE -output PART"
    else:
        message, remedy = "no build that uses isagen is here", _wanted()
    return ProjectError(message, where=where, remedy=remedy)


def _modules_of(distribution: str) -> str:
    """Return a remedy that names the modules of an installed distribution; "" if there is none of this name.

    An editable install by meson-python lists only the module that defines its finder. In place of this module, the
    remedy names the modules that the finder finds.
    """
    finders = {type(finder).__module__: getattr(finder, "_top_level_modules", ()) for finder in sys.meta_path}
    own = [name for name, names in metadata.packages_distributions().items() if distribution in names]
    named = ", ".join(sorted({module for name in own for module in finders.get(name) or (name,)}))
    return f"an installed distribution has this name; give the name of its module: {named}" if named else ""


def _wanted() -> str:
    configure = "; `meson setup BUILD_DIR` makes a build folder" if Path("meson.build").is_file() else ""
    return WANTED + configure
