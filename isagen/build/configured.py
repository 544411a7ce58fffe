"""The step after Meson has configured: warnings about targets, and entries for editors in compile_commands.json."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from ..model.files import read_bytes, write_atomically
from ..model.names import guard_name, sealed_name
from ..model.ninja import NinjaFile
from ..model.plan import Build, Cell, Plan

WARNING = (
    "isagen: warning: meson.build: no target takes {dependency}: no kernel is linked\n"
    "  give a target dependencies: {dependency}"
)
COMPILED_TWICE = (
    "isagen: warning: meson.build: {source} is in isa_kernels, and a target compiles it too\n"
    "  remove it from one of them, unless the target is a tool of the build (native: true)"
)
NOT_AUDITED = (
    "isagen: warning: meson.build: {file} links kernels, and isagen/audit does not audit it\n"
    "  add its target to isa_links, before subdir('isagen/audit'); of both_libraries(), add lib.get_shared_lib()"
)
# The outputs of the steps that isagen/audit declares.
AUDIT_STEP = re.compile(r"\bisa_audit\d+\Z")
COMMANDS = "compile_commands.json"
# Meson's entries in compile_commands.json have this key; the entries that isagen adds for editors do not.
OUTPUT = "output"


def is_used(dispatch_source: Path, ninja: NinjaFile) -> bool:
    """Return whether a target compiles the `dispatch_source`. Return True without a ninja file."""
    return not ninja.found or bool(ninja.made_from(dispatch_source))


def unaudited(build: Build, outputs: Path, ninja: NinjaFile) -> list[str]:
    """Return the files that are linked from sealed objects in `outputs` and that isagen/audit does not audit.

    The result is empty unless levels are sealed and the build relies on isagen/audit (`LinkAudit.of_targets`). Only the
    first sealed object is searched for, because each such file is linked from all sealed objects.
    """
    cells = [cell for _, cell in build.plan.copies()] if build.link_audit.of_targets and build.sealing.active else []
    linked = _linked(outputs / sealed_name(cells[0].copy, cells[0].level), ninja) if cells else ()
    steps = {file: ninja.made_from(ninja.root / file) for file in linked}
    return [file for file, made in steps.items() if not any(AUDIT_STEP.search(step.outputs[0]) for step in made)]


def _linked(path: Path, ninja: NinjaFile) -> Iterator[str]:
    """Yield the files that are linked from an object, also by way of a static library that contains it."""
    for statement in ninja.made_from(path):
        if statement.archives:
            yield from _linked(ninja.root / statement.outputs[0], ninja)
        elif statement.links:
            yield statement.outputs[0]


def add_entries(root: str, plan: Plan, outputs: Path, level: str, left_out: Iterable[str]) -> list[str]:
    """Add entries to compile_commands.json in the build folder `root`, for the kernel sources that `_copies` yields.

    Return the paths of those kernel sources that targets of the project compile, too. An entry contains the command of
    the copy at `level`, or else at the nearest level, without the `left_out` arguments. The new entries come first,
    because clangd uses the first entry of a source.
    """
    path = os.path.join(root, COMMANDS)
    try:
        content = read_bytes(path)
        commands = json.loads(content.decode(errors="surrogateescape"))
    except (OSError, ValueError):
        return []
    place = os.path.relpath(outputs, root).replace(os.sep, "/")
    start = "" if place == "." else f"{place}/"
    copies = {f"{start}{cell.copy}": (source, cell.level) for source, cell in _copies(plan, level)}
    present = {command["file"] for command in commands if OUTPUT not in command}
    compiled = {command["file"] for command in commands if OUTPUT in command}
    entries = _entries(commands, copies, tuple(left_out))
    added = [json.dumps(entry).encode() for entry in entries if entry["file"] not in present]
    if added:  # inserted as text: to write thousands of entries as JSON again takes longer
        write_atomically(path, b"[\n" + b",\n".join(added) + b"," + content[content.index(b"[") + 1 :])
    return sorted(compiled.intersection(source for source, _ in copies.values()))


def _copies(plan: Plan, level: str) -> Iterator[tuple[str, Cell]]:
    """Yield each kernel source with its highest built cell up to `level`, or else its lowest built cell.

    Generated and Fortran sources are left out.
    """
    names = [row.name for row in plan.levels]
    for kernel in plan.kernels:
        if kernel.language in ("c", "cpp") and not kernel.generated:
            built = [cell for cell in kernel.cells if cell.copy]
            below = [cell for cell in built if names.index(cell.level) <= names.index(level)]
            yield from ((kernel.shown_path, cell) for cell in (below[-1:] or built[:1]))


def _entries(
    commands: Iterable[Mapping[str, Any]], copies: Mapping[str, tuple[str, str]], left_out: tuple[str, ...]
) -> Iterator[dict[str, str]]:
    """Yield an entry for each kernel source in `copies`, which maps the paths of copies to (source, level)."""
    for entry in commands:
        copy = entry["file"]
        command, found, _ = entry["command"].rpartition(" -c ")
        if copy not in copies or not found:
            continue
        source, level = copies[copy]
        for word in left_out:
            command = command.replace(f" {word} ", " ")
        command = f"{command} -include {guard_name(level)} -c {quote(source)}"
        yield {"directory": entry["directory"], "command": command, "file": source}
