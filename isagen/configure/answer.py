"""The answer to the Meson fragment: keys with lists of texts, from which the fragment declares targets.

The answer is lines KEY=VALUE, which Meson reads with its module keyval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..matrix.summary import summary_lines
from ..model.languages import LANGUAGES
from ..model.names import registrations_name, sealed_name, stubs_name
from ..model.objects import unit_folder
from ..model.plan import Build
from ..processors.baseline import additions_warnings, baseline_warnings

Values = dict[str, str | Sequence[str]]
# Separates the items of a list, in the answer and in the fragment's arguments.
SEPARATOR = "\x01"
# The codes of characters that keyval does not accept in values: it drops the text after a '#', and reads line by line.
# The fragment decodes them.
CODES = {"#": "\x02", "\n": "\x03"}
# Replaces every space of a value that begins or ends with a space: keyval would trim the value.
SPACE = "\x04"


def answer(
    build: Build, warnings: Iterable[str] = (), *, folder: str = "", root: str = "..", precompiled: Sequence[str] = ()
) -> Values:
    """Return the part of the answer about what is built. Meson prints `warnings`, then warnings about features.

    `folder` is the path of the fragment's output folder, relative to the build folder's root. `root` is the path of the
    project's root, relative to the fragment's folder. `precompiled` are the languages with a precompiled header.

    The key `copied` lists the project's sources that copies contain as text, not by an #include. `emitted` lists the
    outputs of the step emit, and `sealed` those of the step seal.
    """
    plan = build.plan
    cells = [cell for _, cell in plan.copies()]
    built = plan.built_levels()
    registrations = [registrations_name(level, plan.kernel_set) for level in built]
    sealed = [sealed_name(cell.copy, cell.level) for cell in cells] if build.sealing.active else []
    stubs = [stubs_name(plan.kernel_set, build.dispatch_language)] if cells else []
    values: Values = {
        "error": [],
        "copied": [f"{root}/{row.source}" for row in plan.kernels if not (row.generated or row.included)],
        **_units(build, folder, precompiled),
        "levels": built,
        "sealed": [*stubs, *registrations, *sealed],
        "is_sealed": ["yes"] if sealed else [],
        "dispatch": build.sources,
        "dispatch_language": build.dispatch_language,
        "link_language": "cpp" if "cpp" in build.compilers else "c",
        "warnings": [*warnings, *baseline_warnings(build), *additions_warnings(build)],
        "summary": [f"{key}\t{text}".replace("\n", " ") for key, text in summary_lines(build)],
    }
    for level in built if plan.module else ():  # the indexes of the level's objects in `sealed`
        own = [str(place) for place, cell in enumerate(cells, 1 + len(built)) if cell.level == level]
        values[f"{level}_sealed"] = own if build.sealing.active else []
    return values


def _units(build: Build, folder: str, precompiled: Sequence[str]) -> Values:
    plan = build.plan
    emitted = [*build.sources]
    values: Values = {
        "emitted": emitted,
        "units": [unit.name for level in plan.levels for unit in plan.units if unit.level == level.name],
    }
    for unit in plan.units:
        values[f"{unit.name}_copies"] = [str(len(emitted)), str(len(emitted) + len(unit.copies))]
        emitted += unit.copies
        values[f"{unit.name}_pch"] = [language for language in precompiled if unit.args.get(language)]
        for language in LANGUAGES:
            args = unit.args.get(language, ())
            # GCC takes a precompiled header from the first -iquote folder that has one: it must be the unit's own.
            own_folder = [f"-iquote{folder}/{unit_folder(unit.name)}"] if precompiled and args else []
            values[f"{unit.name}_{language}_args"] = [*own_folder, *args]
    return values


def keyval_text(values: Mapping[str, str | Iterable[str]]) -> str:
    """Return the answer's text. A string is a list of one item."""
    lines = []
    for key, value in values.items():
        text = value if isinstance(value, str) else SEPARATOR.join(value)
        for character, code in CODES.items():
            text = text.replace(character, code)
        if text != text.strip():
            text = text.replace(" ", SPACE)
        lines.append(f"{key}={text}\n")
    return "".join(lines)
