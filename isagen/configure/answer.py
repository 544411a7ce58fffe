"""The answer to the Meson fragment: keys and lists, from which it declares targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..matrix.baseline import additions_warnings, baseline_warnings
from ..matrix.summary import summary_lines
from ..model.languages import LANGUAGES
from ..model.names import registrations_name, sealed_name, stubs_name
from ..model.objects import unit_folder
from ..model.plan import BUILT, Build, Plan, Unit

Values = dict[str, str | Sequence[str]]


@dataclass(frozen=True)
class Editor:
    """The level at which editors see kernel sources, "best" for the highest that is built, "" for none.

    The `tuning` arguments are left out: clangd, a Clang, refuses those that only GCC knows.
    """

    level: str = ""
    tuning: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Fragment:
    """What the answer needs of the fragment: where it is `built`, from the build folder's root, and the way `up`.

    That leads from the fragment's folder to the project's root. `precompiled` are the languages with a precompiled
    header.
    """

    built: str = ""
    up: str = ".."
    precompiled: tuple[str, ...] = ()


def answer(build: Build, editor: Editor, warnings: Iterable[str] = (), fragment: Fragment = Fragment()) -> Values:
    """Return what the fragment reads of a build. Meson also prints `warnings`, before the build's own.

    `copied` are the kernels that copies contain, not include. `emitted` are the sources of dispatch and the copies, and
    `sealed` the source of stubs, what each level registers, and the objects.
    """
    plan = build.plan
    cells = [cell for _, cell in plan.copies()]
    built = plan.built_levels()
    registrations = [registrations_name(level, plan.kernel_set) for level in built]
    sealed = [sealed_name(cell.copy, cell.level) for cell in cells] if build.sealing.usable else []
    stubs = [stubs_name(plan.kernel_set, build.dispatch_language)] if cells else []
    values: Values = {
        "error": [],
        "copied": [f"{fragment.up}/{row.source}" for row in plan.kernels if not (row.generated or row.included)],
        **_units(build, fragment),
        "levels": built,
        "sealed": [*stubs, *registrations, *sealed],
        "is_sealed": ["yes"] if sealed else [],
        "dispatch": build.sources,
        "dispatch_language": build.dispatch_language,
        "link_language": "cpp" if "cpp" in build.compilers else "c",
        "editor": _editor(plan, editor),
        "warnings": [*warnings, *baseline_warnings(build), *additions_warnings(build)],
        "summary": [f"{key}\t{text}".replace("\n", " ") for key, text in summary_lines(build)],
    }
    for level in built if plan.module else ():  # indexes into the sealed outputs
        own = [str(place) for place, cell in enumerate(cells, 1 + len(built)) if cell.level == level]
        values[f"{level}_sealed"] = own if build.sealing.usable else []
    return values


def _units(build: Build, fragment: Fragment) -> Values:
    """Return the libraries, lowest level first, and for each its arguments and the indexes of its copies in `emitted`.

    `pch` are languages with a precompiled header.
    """
    plan = build.plan
    emitted = [*build.sources, *(copy for unit in plan.units for copy in unit.copies)]
    places = {copy: str(place) for place, copy in enumerate(emitted)}
    values: Values = {
        "emitted": emitted,
        "units": [unit.name for level in plan.levels for unit in plan.units if unit.level == level.name],
    }
    for unit in plan.units:
        values[f"{unit.name}_copies"] = [places[copy] for copy in unit.copies]
        values[f"{unit.name}_pch"] = [language for language in fragment.precompiled if unit.args.get(language)]
        for language in LANGUAGES:
            values[f"{unit.name}_{language}_args"] = _args(unit, language, fragment)
    return values


def _args(unit: Unit, language: str, fragment: Fragment) -> Sequence[str]:
    """Return the arguments of a unit in a language.

    GCC searches -iquote folders for a precompiled header: the unit's precedes those of kernels.
    """
    args = unit.args.get(language, ())
    if fragment.precompiled and args:
        return [f"-iquote{fragment.built}/{unit_folder(unit.name)}", *args]
    return args


def _editor(plan: Plan, editor: Editor) -> list[str]:
    """Return the level at which editors see kernel sources, and the arguments that are left out."""
    level = editor.level
    if level == "best":
        level = next((row.name for row in reversed(plan.levels) if row.verdict == BUILT), "")
    return [level, *sorted(editor.tuning)] if level else []
