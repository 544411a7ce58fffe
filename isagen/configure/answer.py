"""The answer to the Meson fragment: keys and lists, from which it declares targets."""

from __future__ import annotations

from collections.abc import Sequence

from ..matrix.baseline import baseline_warnings
from ..matrix.summary import summary_lines
from ..model.names import dispatch_name, front_name, guard_name, registrations_name, sealed_name
from ..model.plan import BUILT, Build, Plan

Values = dict[str, str | Sequence[str]]


def answer(build: Build, editor: str) -> Values:
    """Return what the fragment reads of a build; it refers to copies by their place in `copies`.

    `editor` is the level at which editors see kernel sources, "best" for the highest that is built, "" for none.
    """
    plan = build.plan
    copies = [cell.copy for _, cell in plan.copies()]
    place = {copy: str(index) for index, copy in enumerate(copies)}
    units = {level.name: [unit for unit in plan.units if unit.level == level.name] for level in plan.levels}
    languages = {kernel.language for kernel in plan.kernels} or build.compilers.keys()
    language = "cpp" if "cpp" in languages else "c"
    values: Values = {
        "copies": copies,
        "levels": [level for level, found in units.items() if found],
        "sealed": "yes" if build.sealing.usable else "no",
        "dispatch_source": dispatch_name(plan.kernel_set, language),
        "front_source": [front_name(plan.kernel_set, language)] if plan.module else [],
    }
    for level, found in units.items():
        built = [cell.copy for _, cell in plan.copies() if cell.level == level]
        values[f"{level}_registrations"] = registrations_name(level, plan.kernel_set)
        values[f"{level}_sealed"] = [sealed_name(copy, level) for copy in built] if build.sealing.usable else []
        values[f"{level}_units"] = [unit.name for unit in found]
        for unit in found:
            values[f"{unit.name}_copies"] = [place[copy] for copy in unit.copies]
            for language in ("c", "cpp"):
                values[f"{unit.name}_{language}_args"] = unit.args.get(language, ())
    return {**values, **_editor(plan, editor), "warnings": list(baseline_warnings(build)), **_summary(build)}


def _editor(plan: Plan, level: str) -> Values:
    """Return the kernel sources that editors see as those of one level, by unit: their places in the project's list."""
    if level == "best":
        level = next((row.name for row in reversed(plan.levels) if row.verdict == BUILT), "")
    sources = [kernel for kernel in plan.kernels if not kernel.generated]
    units = [unit for unit in plan.units if unit.level == level]
    values: Values = {"editor_args": ["-include", guard_name(level)]}
    for unit in units:
        copies = frozenset(unit.copies)
        values[f"{unit.name}_editor"] = [
            str(index) for index, kernel in enumerate(sources) if any(cell.copy in copies for cell in kernel.cells)
        ]
    return {**values, "editor_units": [unit.name for unit in units if values[f"{unit.name}_editor"]]}


def _summary(build: Build) -> Values:
    lines = summary_lines(build)
    values: Values = {"summary": [str(number) for number in range(len(lines))]}
    for number, (key, text) in enumerate(lines):
        values[f"summary_{number}_key"] = key
        values[f"summary_{number}_text"] = text
    return values
