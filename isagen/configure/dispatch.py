"""The dispatch header and source of a plan, and the front of a whole module, rendered from templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..binary.formats import FORMATS
from ..binary.notes import array_text, note_text
from ..matrix.planned import planned_matrix, public
from ..model.matrix import LevelRow
from ..model.matrix_notes import pack
from ..model.names import (
    LEVEL_NOTES_MARK,
    MATRIX_MARK,
    NOTE_MARK,
    STUBS_MARK,
    dispatch_name,
    front_name,
    guard_name,
    stubs_name,
    symbols_suffix,
)
from ..model.plan import BUILT, Build, Plan
from ..model.record import MATRIX_OWNER, RECORD_OWNER
from ..processors.features import Features
from ..processors.sources import ELF, SYSTEM_MACROS
from ..processors.table import Table
from ..rendering import render
from .detection import detection_values

# The folder in `processors` whose detection reads no registers, so that any compiler compiles it.
NO_REGISTERS = "generic"


def dispatch_texts(build: Build, table: Table) -> tuple[dict[str, str], dict[str, str]]:
    """Return the generated headers and the generated sources, by name.

    The source of stubs contains marks, which the step seal replaces.
    """
    plan, foreign = build.plan, build.limit.foreign
    values = _values(build, table)
    source = render("isa_dispatch.c.j2", **values)
    matrix = pack(public(planned_matrix(build)))
    record = build.record.to_json().encode() if table.features.processor.decodable else b""
    notes = "\n".join([note_text(RECORD_OWNER, record)] * bool(record) + [note_text(MATRIX_OWNER, matrix)])
    for binary_format in FORMATS:
        source = source.replace(NOTE_MARK.format(binary_format.name), notes)
    headers = {
        values["header"]: render("isa_dispatch.h.j2", **values),
        "isa_python.h": render(
            "isa_python.h.j2",
            module=plan.module,
            override=plan.override,
            variables=[variable["name"] for variable in values["variables"]],
            python_parts=render("isa_object.py").split("\n\n\n"),
        ),
    }
    # The header that the project's sources include. A dispatch source includes the header of its set instead, because a
    # target may link two sets.
    headers.setdefault("isa_dispatch.h", f'#include "{values["header"]}"\n')
    for level in plan.levels:
        if level.verdict == BUILT:
            unchecked = [] if foreign else _unchecked_macros(level, table.features)
            headers[guard_name(level.name)] = render("isa_guard.h.j2", level=level.name, unchecked=unchecked)
    sources = {dispatch_name(plan.kernel_set, "c"): source.replace(MATRIX_MARK, array_text(matrix))}
    if values["kernels"]:
        sources[stubs_name(plan.kernel_set, "c")] = render("isa_stubs.c.j2", **values)
    if plan.module:
        sources[front_name(plan.kernel_set, "c")] = render("isa_front.c.j2", **values)
    return headers, sources


def _values(build: Build, table: Table) -> Mapping[str, Any]:
    plan, limit = build.plan, build.limit
    processor = table.features.processor
    if limit.foreign:  # C that every compiler accepts cannot detect the CPU, so the lowest level requires no feature
        levels = replace(plan.levels[0], features=()), *plan.levels[1:]
        detection = detection_values(replace(plan, levels=levels), table.features, ())
    else:
        unreported = table.features.unreported([SYSTEM_MACROS.get(build.system, ELF)])
        detection = detection_values(plan, table.features, build.record.baseline, unreported)
    return {
        "header": dispatch_name(plan.kernel_set, "h"),
        "kernels": any(plan.copies()),
        "table": plan.table,
        **override_values(plan),
        "suffix": symbols_suffix(build.record.project, plan.kernel_set),  # a program may link several projects
        **detection,
        "withhold": plan.withhold,
        "stubs_mark": STUBS_MARK,
        "announced": limit.opaque,
        "module": plan.module,
        "detection": NO_REGISTERS if limit.foreign else processor.detection,
        "oldest_cpu": None if limit.foreign else table.features.oldest_cpu,
        "matrix_mark": MATRIX_MARK,
        "notes": [_note("isa_note", one.name, NOTE_MARK.format(one.name)) for one in FORMATS],
        "level_notes": [_note("isa_level_notes", one.name, LEVEL_NOTES_MARK) for one in FORMATS if not limit.opaque],
    }


def _note(array: str, binary_format: str, mark: str) -> dict[str, str]:
    return {"array": array, "template": f"{binary_format}/record.c.j2", "mark": mark}


def _unchecked_macros(level: LevelRow, features: Features) -> list[dict[str, str]]:
    """Return the features that `level` does not check, each with a C condition: whether the compiler turned it on."""
    return [
        {"name": feature.name, "condition": f"defined({name})" + (f" && {name} == {value}" if compared else "")}
        for feature in features.features.values()
        if feature.name not in level.features and feature.name not in features.never_required
        for name, compared, value in (macro.partition("=") for macro in feature.macros)
    ]


def override_values(plan: Plan) -> Mapping[str, Any]:
    """Return the template's values for the override.

    `variables` are in order of priority. The words of a variable are `count` items of `words`, from index `first`.
    """
    variables: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    if plan.override:
        variables.append({"name": plan.override, "first": 0, "count": 0})
    for alias in plan.aliases:
        meanings = {"": alias.always} if alias.always else alias.values
        variables.append({"name": alias.variable, "first": len(words), "count": len(meanings)})
        words += [{"word": word, **_meaning(meaning, plan, bool(alias.always))} for word, meaning in meanings.items()]
    return {"variables": variables, "words": words}


def _meaning(meaning: str, plan: Plan, always: bool) -> dict[str, Any]:
    """Return what LEVEL or -LEVEL means: `allowed`, a mask of levels, and `asked`, the index of a level, or -1.

    The program warns if the CPU does not support this level; -1 is for no warning.
    """
    names = [level.name for level in plan.levels]
    if meaning.startswith("-"):
        off = meaning[1:]
        allowed = {level.name for level in plan.levels if level.name != off and off not in level.requires}
        asked = -1
    else:
        index = names.index(meaning)
        allowed, asked = {meaning, *plan.levels[index].requires}, -1 if always else index
    mask = sum(1 << place for place, name in enumerate(names) if name in allowed)
    return {"asked": asked, "allowed": f"0x{mask:x}u"}
