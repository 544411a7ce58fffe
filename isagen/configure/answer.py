"""The answer to the Meson fragment: keys and lists, from which it declares targets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..matrix.additions import additions_warnings
from ..matrix.baseline import baseline_warnings
from ..matrix.summary import summary_lines
from ..model.names import sealed_name
from ..model.plan import Build

Values = dict[str, str | Sequence[str]]


def answer(build: Build, headers: Iterable[str]) -> Values:
    """Return what the fragment reads of a build; it refers to copies by their place in `copies`."""
    plan = build.plan
    copies = [cell.copy for _, cell in plan.copies()]
    place = {copy: str(index) for index, copy in enumerate(copies)}
    units = {level.name: [unit for unit in plan.units if unit.level == level.name] for level in plan.levels}
    values: Values = {
        "headers": list(headers),
        "copies": copies,
        "levels": [level for level, found in units.items() if found],
        "sealed": "yes" if build.sealing.usable else "no",
        "dispatch_source": "isa_dispatch.c" if all(k.language == "c" for k in plan.kernels) else "isa_dispatch.cpp",
    }
    for level, found in units.items():
        built = [cell.copy for _, cell in plan.copies() if cell.level == level]
        values[f"{level}_sealed"] = [sealed_name(copy, level) for copy in built] if build.sealing.usable else []
        values[f"{level}_units"] = [unit.name for unit in found]
        for unit in found:
            values[f"{unit.name}_copies"] = [place[copy] for copy in unit.copies]
            for language in ("c", "cpp"):
                values[f"{unit.name}_{language}_args"] = unit.args.get(language, ())
    return {**values, "warnings": [*baseline_warnings(build), *additions_warnings(build)], **_summary(build)}


def _summary(build: Build) -> Values:
    lines = summary_lines(build)
    values: Values = {"summary": [str(number) for number in range(len(lines))]}
    for number, (key, text) in enumerate(lines):
        values[f"summary_{number}_key"] = key
        values[f"summary_{number}_text"] = text
    return values
