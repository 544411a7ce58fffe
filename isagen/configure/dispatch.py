"""The dispatch header and source of a plan, and a module's front, rendered from templates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..binary.formats import FORMATS
from ..matrix.planned import planned_matrix, public
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
from ..model.plan import BUILT, Build, LevelRow, Plan
from ..model.record import MATRIX_OWNER, NOTE_OWNER
from ..processors.features import Features
from ..processors.table import Table
from ..rendering import render
from .detection import detection_values

# The folder whose detect.c.j2 reads no registers, in C for any compiler.
NO_REGISTERS = "generic"
# The names of the dispatch source and that of stubs among the headers.
SOURCE, STUBS = "", "stubs"
# The functions that isa_dispatch.h declares.
FUNCTIONS = (
    "isa_current_level",
    "isa_highest_binary_level",
    "isa_highest_cpu_level",
    "isa_level_is_built",
    "isa_level_is_supported",
    "isa_level_missing",
    "isa_level_name",
    "isa_matrix_text",
    "isa_program_missing",
    "isa_stub_count",
    "isa_stub_has_kernel",
    "isa_stub_level",
    "isa_stub_name",
    "isa_take_warning",
    "isa_use_level",
)


@dataclass(frozen=True)
class DispatchTexts:
    """The headers by name, the dispatch source, and the source of stubs with marks in their places; "" without any."""

    headers: Mapping[str, str]
    source: str
    stubs: str

    def sources(self, kernel_set: str) -> dict[str, str]:
        """Return the sources by name, as the build steps look them up."""
        found = {dispatch_name(kernel_set, "c"): self.source, stubs_name(kernel_set, "c"): self.stubs}
        return {name: text for name, text in found.items() if text}


def dispatch_texts(build: Build, table: Table) -> DispatchTexts:
    """Return the headers and sources of dispatch. Sealing adds the stubs, which it finds in compiled objects.

    The project's name becomes part of the functions' symbols: several projects may be linked into one program. The
    record, which tells an audit how the binary was built, becomes part of the source.
    """
    plan, project, limit = build.plan, build.record.project, build.limit
    processor = table.features.processor
    header = dispatch_name(plan.kernel_set, "h")
    values: Mapping[str, Any] = {
        "header": header,
        "kernels": any(plan.copies()),
        "table": plan.table,
        **override_values(plan),
        "suffix": symbols_suffix(project, plan.kernel_set),
        "functions": FUNCTIONS,
        **(
            detection_values(_unchecked(plan), table.features, ())
            if limit.foreign
            else detection_values(plan, table.features, build.record.baseline)
        ),
        "stubs_mark": STUBS_MARK,
        "announced": limit.opaque,
        "module": plan.module,
        "detection": NO_REGISTERS if limit.foreign else processor.detection,
        "oldest_cpu": None if limit.foreign else processor.oldest_cpu,
        "matrix_mark": MATRIX_MARK,
        "notes": [_note("isa_note", one.name, NOTE_MARK.format(one.name)) for one in FORMATS],
        "level_notes": [_note("isa_level_notes", one.name, LEVEL_NOTES_MARK) for one in FORMATS if not limit.opaque],
    }
    python = {"module": plan.module, "override": plan.override, "variables": plan.variables}
    guards = {
        level.name: _unchecked_macros(level, table.features, limit.foreign)
        for level in plan.levels
        if level.verdict == BUILT
    }
    texts = _texts(values, python, guards)
    source, stubs = texts.pop(SOURCE), texts.pop(STUBS, "")
    matrix = pack(public(planned_matrix(build)))
    notes = _notes(build.record.to_json() if processor.decodable else "", matrix)
    for mark, content in {MATRIX_MARK: matrix, **notes}.items():
        source = source.replace(mark, _bytes(content))
    return DispatchTexts(texts, source, stubs)


def front_texts(plan: Plan) -> dict[str, str]:
    """Return the source that loads a whole module's best level, by the name under which the build steps find it."""
    if not plan.module:
        return {}
    name = front_name(plan.kernel_set, "c")
    values = {"header": dispatch_name(plan.kernel_set, "h"), "module": plan.module}
    return {name: render("isa_front.c.j2", **values)}


def _texts(values: Mapping[str, Any], python: Mapping[str, Any], guards: Mapping[str, Any]) -> dict[str, str]:
    """Lay out the headers by name, the dispatch source, and that of stubs where a compiler makes their table."""
    parts = render("isa_object.py").split("\n\n\n")
    return {
        **_forwarded(values["header"], render("isa_dispatch.h.j2", **values)),
        "isa_python.h": render("isa_python.h.j2", **python, python_parts=parts),
        **{
            guard_name(level): render("isa_guard.h.j2", level=level, unchecked=unchecked)
            for level, unchecked in guards.items()
        },
        SOURCE: render("isa_dispatch.c.j2", **values),
        **({STUBS: render("isa_stubs.c.j2", **values)} if values["kernels"] else {}),
    }


def _forwarded(header: str, text: str) -> dict[str, str]:
    """Return the dispatch header, under the name that sources include too.

    The dispatch sources of two sets in one target find each its own.
    """
    return {header: text, **({"isa_dispatch.h": f'#include "{header}"\n'} if header != "isa_dispatch.h" else {})}


def _note(array: str, binary_format: str, mark: str) -> dict[str, str]:
    """Return what templates need for a note of a binary format: its array in C, and the mark of its bytes."""
    return {"array": array, "template": f"{binary_format}/record.c.j2", "mark": mark}


def _notes(record: str, matrix: bytes) -> dict[str, bytes]:
    """Return by mark what makes the matrix, and the record if there is one, part of a binary of each format."""
    found = {}
    for one in FORMATS:
        content = one.record(NOTE_OWNER, record.encode()) if record else b""
        found[NOTE_MARK.format(one.name)] = content + one.record(MATRIX_OWNER, matrix)
    return found


def _bytes(content: bytes) -> str:
    """Return bytes as the lines of a C array; C limits the length of strings."""
    lines = (content[place : place + 32] for place in range(0, len(content), 32))
    return "\n".join(f"  {', '.join(map(str, line))}," for line in lines)


def _unchecked(plan: Plan) -> Plan:
    """Return a plan whose lowest level needs nothing, because code for any compiler cannot detect the CPU."""
    return replace(plan, levels=(replace(plan.levels[0], features=()), *plan.levels[1:]))


def _unchecked_macros(level: LevelRow, features: Features, foreign: bool) -> list[dict[str, str]]:
    """Return the features, with their macros, of which none may be on where `level` is compiled: none is checked there.

    Under a compiler that is `foreign`, nothing is checked, and nothing refused.
    """
    return [
        {"name": feature.name, "condition": f"defined({name})" + (f" && {name} == {value}" if compared else "")}
        for feature in features.features.values()
        if not foreign and feature.name not in level.features and feature.name not in features.never_required
        for name, compared, value in (macro.partition("=") for macro in feature.macros)
    ]


def override_values(plan: Plan) -> Mapping[str, Any]:
    """Return what the templates lay out: the variables in their order, each with the place of its words among all."""
    variables: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    if plan.override:
        variables.append({"name": plan.override, "first": 0, "count": 0})
    for alias in plan.aliases:
        said = {"": alias.always} if alias.always else alias.values
        variables.append({"name": alias.variable, "first": len(words), "count": len(said)})
        words += [{"word": word, **_meaning(meaning, plan, bool(alias.always))} for word, meaning in said.items()]
    return {"variables": variables, "words": words}


def _meaning(meaning: str, plan: Plan, always: bool) -> dict[str, Any]:
    """Return the level that is asked for, -1 where a lack of it is not worth a warning, and the levels allowed."""
    names = [level.name for level in plan.levels]
    if meaning.startswith("-"):
        off = meaning[1:]
        allowed = {level.name for level in plan.levels if level.name != off and off not in level.below}
        asked = -1
    else:
        row = plan.levels[names.index(meaning)]
        allowed, asked = {row.name, *row.below}, -1 if always else names.index(meaning)
    mask = sum(1 << place for place, name in enumerate(names) if name in allowed)
    return {"asked": asked, "allowed": f"0x{mask:x}u"}
