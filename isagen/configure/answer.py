"""The answer to the Meson fragment: keys and lists, from which it declares targets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..matrix.baseline import additions_warnings, baseline_warnings
from ..matrix.summary import summary_lines
from ..model.languages import LANGUAGES
from ..model.names import (
    dispatch_name,
    flat_name,
    front_name,
    guard_name,
    registrations_name,
    script_name,
    sealed_name,
    stubs_name,
)
from ..model.plan import BUILT, Build, KernelRow, Plan, Unit

# Names that need no quotes in linker scripts.
PLAIN = re.compile(r"[\w.+/-]+", re.ASCII)

Values = dict[str, str | Sequence[str]]


@dataclass(frozen=True)
class Editor:
    """The level at which editors see kernel sources, "best" for the highest that is built, "" for none.

    The `tuning` arguments are left out: clangd, a Clang, refuses those that only GCC knows.
    """

    level: str = ""
    tuning: frozenset[str] = frozenset()


def answer(build: Build, editor: Editor, warnings: Iterable[str] = (), scripted: bool = False) -> Values:
    """Return what the fragment reads of a build.

    `copied` are places in the project's list: of the kernels whose copies hold their text.

    Meson shall warn of `warnings` besides what the build itself gives reason for. Of a large plan, it knows archives
    instead of objects, because it compiles regular expressions of all inputs and outputs; and a linker script instead
    of sealed objects, where they may be `scripted`.
    """
    plan = build.plan
    cells = [cell for _, cell in plan.copies()]
    units = {level.name: [unit for unit in plan.units if unit.level == level.name] for level in plan.levels}
    built = plan.built_levels()
    language = plan.dispatch_language if plan.kernels else "cpp" if "cpp" in build.compilers else "c"
    many = plan.is_large() and not build.limit.opaque and not plan.module
    sealed = [sealed_name(cell.copy, cell.level) for cell in cells] if build.sealing.usable else []
    script = [script_name(plan.kernel_set)] if many and scripted and all(map(PLAIN.fullmatch, sealed)) else []
    values: Values = {
        **_compiled(plan),
        "copied": [str(place) for place, kernel in enumerate(_in_project(plan)) if not kernel.included],
        "levels": built,
        "registrations": [registrations_name(level, plan.kernel_set) for level in built],
        "archived": ["yes"] if many else [],
        "script": script if sealed else [],
        "sealed": [] if script else sealed,
        "is_sealed": ["yes"] if sealed else [],
        "find_objects": "no" if build.limit.opaque else "yes",
        "stubs_source": [stubs_name(plan.kernel_set, language)] if cells else [],
        "dispatch_source": dispatch_name(plan.kernel_set, language),
        "front_source": [front_name(plan.kernel_set, language)] if plan.module and build.sealing.usable else [],
    }
    for level, found in units.items():
        if plan.module:  # places in the outputs of sealing
            own = [place for place, cell in enumerate(cells, 1 + len(built)) if cell.level == level]
            values[f"{level}_sealed"] = list(map(str, own)) if values["front_source"] else []
        values[f"{level}_units"] = [unit.name for unit in found]
        for unit in found:
            for language in LANGUAGES:
                values[f"{unit.name}_{language}_args"] = unit.args.get(language, ())
    said = [*warnings, *baseline_warnings(build), *additions_warnings(build)]
    return {**values, **_editor(plan, editor, many), "warnings": said, **_summary(build)}


def _compiled(plan: Plan) -> Values:
    """Return the copies, unit by unit, and for each unit the places of its own, from one to another.

    Its `sources` are those that are compiled themselves: places in the project's list, or "all" of it.
    """
    emitted, place = plan.emitted(), 0
    values: Values = {"copies": [copy for copies in emitted.values() for copy in copies]}
    direct = [
        frozenset(cell.copy for cell in kernel.cells) if kernel.object else frozenset() for kernel in _in_project(plan)
    ]
    for unit in plan.units:
        values[f"{unit.name}_copies"] = [str(place), str(place := place + len(emitted[unit.name]))]
        values[f"{unit.name}_sources"] = _places(unit, direct)
    return values


def _places(unit: Unit, copies: Sequence[frozenset[str]]) -> list[str]:
    """Return the places in the project's list of the kernels that have `copies` in a unit, or "all" of it."""
    own = frozenset(unit.copies)
    places = [str(number) for number, found in enumerate(copies) if not own.isdisjoint(found)]
    return ["all"] if places and len(places) == len(copies) else places


def _in_project(plan: Plan) -> list[KernelRow]:
    """Return the kernels that are not generated, in the order in which the fragment has their files."""
    return [kernel for kernel in plan.kernels if not kernel.generated]


def _editor(plan: Plan, editor: Editor, many: bool) -> Values:
    """Return the kernel sources that editors see as those of one level, by unit.

    They are places in the project's list, or "all" of it. Where there are `many`, return the level, and the arguments
    that are left out.
    """
    level = editor.level
    if level == "best":
        level = next((row.name for row in reversed(plan.levels) if row.verdict == BUILT), "")
    if many:
        return {"editor": [level, *sorted(editor.tuning)] if level else [], "editor_units": []}
    shown = ("c", "cpp")
    names = Counter(flat_name(kernel.source) for kernel in plan.kernels)
    own_copies = [
        frozenset(cell.copy for cell in kernel.cells)
        if kernel.language in shown and names[flat_name(kernel.source)] == 1
        else frozenset()
        for kernel in _in_project(plan)
    ]
    units = [unit for unit in plan.units if unit.level == level]
    guard = ["-include", guard_name(level)]
    values: Values = {}
    for unit in units:
        seen = {one.language for one, own in zip(_in_project(plan), own_copies, strict=True) if own & {*unit.copies}}
        for language in shown:
            args = [arg for arg in unit.args.get(language, ()) if arg not in editor.tuning]
            values[f"{unit.name}_editor_{language}_args"] = [*guard, *args] if language in seen else []
        values[f"{unit.name}_editor"] = _places(unit, own_copies)
    return {**values, "editor": [], "editor_units": [unit.name for unit in units if values[f"{unit.name}_editor"]]}


def _summary(build: Build) -> Values:
    lines = summary_lines(build)
    values: Values = {"summary": [str(number) for number in range(len(lines))]}
    for number, (key, text) in enumerate(lines):
        values[f"summary_{number}_key"] = key
        values[f"summary_{number}_text"] = text
    return values
