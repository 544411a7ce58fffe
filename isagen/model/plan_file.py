"""Files of a build folder: the plan, and what each level registers; their one writer and one reader."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .errors import PlanError, ProjectError
from .files import AnyPath
from .names import PLAN, TOOL_FOLDER
from .plan import Build, Cell, LinkAudit
from .reading import from_data
from .registrations import Registrations

T = TypeVar("T")

# Raise it when what is written changes in a way that an older reader does not know.
PLAN_FORMAT = 9
# The first keys of what begins a line in a plan: levels and units, kernels, cells.
OF_LINES = ("name", "source", "level")
RECONFIGURE = "configure the build folder again: meson setup --reconfigure BUILD_DIR"


@dataclass(frozen=True)
class _CellFlags:
    """The lists of flags of a plan's cells."""

    lists: tuple[tuple[str, ...], ...]


def plan_text(build: Build) -> str:
    """Return the text of a plan file.

    Thousands of cells have a few lists of flags, which stand first; a cell has the place of its own among them.
    """
    from .codec import to_line, without_surrogates

    lists: dict[tuple[str, ...], int] = {}

    def plain(value: Any) -> Any:
        if type(value) is Cell:
            return {**vars(value), "flags": lists.setdefault(value.flags, len(lists))}
        return vars(value)

    # In one call: one for each cell takes three times as long.
    text = json.JSONEncoder(ensure_ascii=False, default=plain).encode(vars(build))
    text = f'{{"format": {PLAN_FORMAT}, "cell_flags": {to_line(list(lists))}, {without_surrogates(text)[1:]}\n'
    for key in OF_LINES:
        text = text.replace(f'}}, {{"{key}": ', f'}},\n{{"{key}": ').replace(f'[{{"{key}": ', f'[\n{{"{key}": ')
    return text


def read_plan(path: AnyPath) -> Build:
    """Return the build that the plan file at `path` describes.

    Raises `PlanError` if it is missing, damaged, or of another format.
    """

    def find(data: Any) -> Build:
        _set_flags(data)
        return from_data(Build, data)

    return _read(path, find, RECONFIGURE)


def linkers_folder(plan_name: str, mode: str) -> str:
    """Return the folder of the scripts in the linkers' places, for an audit of `mode`, from that of the plan."""
    return f"{TOOL_FOLDER}/audit_{mode}{plan_name.removeprefix('isa_plan').removesuffix('.json')}"


def lost_scripts(plan_path: Path, audit: LinkAudit) -> str:
    """Return that links are not audited, where scripts are gone from the build folder."""
    folder = linkers_folder(plan_path.name, audit.mode)
    lost = [name for name in audit.linkers if not (plan_path.parent / folder / name).is_file()]
    return f"{folder} lacks {' '.join(lost)}, so that links are not audited: {RECONFIGURE}" if lost else ""


def shown_sources(path: AnyPath, level: str, languages: Container[str]) -> dict[str, str]:
    """Return the project's kernel sources in some `languages` by the file names of their copies at a `level`.

    Sources are paths from the build folder's root. Reading the whole plan of thousands of kernels takes longer. Raises
    `PlanError` as `read_plan` does.
    """

    def find(data: Any) -> dict[str, str]:
        return {
            cell["copy"]: kernel["line"]
            for kernel in data["plan"]["kernels"]
            if not kernel["generated"] and kernel["language"] in languages
            for cell in kernel["cells"]
            if cell["level"] == level and cell["copy"]
        }

    return _read(path, find, RECONFIGURE)


def _set_flags(data: Any) -> None:
    """Give the cells of a plan their lists of flags; what is damaged is left to who reads the whole."""
    lists = from_data(_CellFlags, {"lists": data.pop("cell_flags", [])}).lists
    of_place = dict(enumerate(lists))
    with suppress(AttributeError, KeyError, TypeError):
        for kernel in data["plan"]["kernels"]:
            for cell in kernel["cells"]:
                cell["flags"] = of_place[cell["flags"]]


def registrations_text(found: Registrations) -> str:
    """Return the text of a file of registrations."""
    from .codec import to_text

    return to_text({"format": PLAN_FORMAT, **vars(found)}) + "\n"


def read_registrations(path: Path) -> Registrations:
    """Return what the file at `path` holds. Raises `PlanError` as `read_plan` does."""
    return _read(
        path,
        lambda data: from_data(Registrations, data),
        "clean the build folder, and build again: ninja -C BUILD_DIR clean",
    )


def outputs_folder(folder: Path) -> Path:
    """Return where targets that are declared in a `folder` of a build have their outputs: Meson's option layout.

    With layout=flat, the outputs of all folders are in one.
    """
    found = outputs_of(os.fspath(folder))
    return folder if found is None else type(folder)(found)


def outputs_of(folder: str) -> str | None:
    """Return the one folder of all outputs of the build that a folder is in; None where each has its own."""
    place, above = folder, os.path.dirname(folder)
    while not os.path.isdir(os.path.join(place, "meson-private")):
        if place in ("", above):
            return None
        place, above = above, os.path.dirname(above)
    one = os.path.join(place, "meson-out")
    return one if os.path.isdir(one) else None


def find_plans(folder: Path) -> list[Path]:
    """Return the plan files in a folder and below. Raises `ProjectError` if there is none."""
    if not folder.is_dir():
        raise ProjectError("there is no such folder", where=str(folder), remedy="give the build folder of a project")
    plans = list(plans_in(folder))
    if not plans:
        raise ProjectError(
            "no build of isagen is here",
            where=str(folder),
            remedy="configure the project first, and give its build folder: meson setup BUILD_DIR",
        )
    return plans


def has_plan(folder: Path) -> bool:
    """Return whether a plan file is in a folder or below."""
    return next(plans_in(folder), None) is not None


def plans_in(folder: Path) -> Iterator[Path]:
    """Yield the plan files in a folder and below."""
    from pathlib import Path

    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.endswith(".p") and name != TOOL_FOLDER)
        yield from (Path(place, name) for name in sorted(filter(PLAN.fullmatch, files)))


def _read(path: AnyPath, find: Callable[[Any], T], remedy: str) -> T:
    """Return what `find` makes of the data of a file. Raises `PlanError` where it cannot be read or is damaged."""
    try:
        with open(path, encoding="utf-8") as stream:
            data: Any = json.load(stream)
        if not isinstance(data, dict):
            raise ValueError("it is no JSON object")
    except OSError as problem:
        raise PlanError(f"cannot be read: {problem.strerror}", where=str(path), remedy=remedy) from None
    except (ValueError, RecursionError) as problem:
        raise PlanError(f"cannot be read: it is damaged: {problem}", where=str(path), remedy=remedy) from None
    found = data.pop("format", None)
    if found != PLAN_FORMAT or isinstance(found, bool):
        raise PlanError(
            f"is of format {found}, and this isagen reads format {PLAN_FORMAT}: another version wrote it",
            where=str(path),
            remedy=remedy,
        )
    try:
        return find(data)
    except (ValueError, AttributeError, KeyError, TypeError) as problem:
        raise PlanError(f"cannot be read: it is damaged: {problem}", where=str(path), remedy=remedy) from None
