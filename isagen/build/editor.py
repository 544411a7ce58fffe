"""Entries of kernel sources in compile_commands.json, for editors."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from shlex import quote
from typing import Any

from ..model.command_words import split_words
from ..model.files import read_bytes, write_atomically
from ..model.names import guard_name
from ..model.plan import Plan
from ..model.plan_file import outputs_of, read_plan

COMMANDS = "compile_commands.json"
# A key that Meson's entries have, and those for editors lack.
OUTPUT = "output"
SHOWN = ("c", "cpp")


def add_entries(root: str, plan_path: str, level: str, left_out: Iterable[str]) -> None:
    """Add to the commands in the build folder `root` how each kernel source is compiled at `level`.

    That is the command of its copy, without the `left_out` arguments. It comes first, because clangd takes the first
    entry of a source. Only Meson's own entries are read.
    """
    path = os.path.join(root, COMMANDS)
    try:
        content = read_bytes(path)
        known = json.loads(content.decode(errors="surrogateescape"))
    except (OSError, ValueError):
        return
    folder = os.path.dirname(plan_path)
    place = os.path.relpath(outputs_of(folder), root).replace(os.sep, "/")
    sources = _sources(read_plan(plan_path).plan, level)
    lines = {f"{place}/{made}" if place != "." else made: line for made, line in sources.items()}
    there = {entry["file"] for entry in known if OUTPUT not in entry}
    entries = _entries(known, lines, guard_name(level), tuple(left_out))
    added = [_text(entry) for entry in entries if entry["file"] not in there]
    if added:  # writing all of them anew would take longer
        write_atomically(path, b"[\n" + b",\n".join(added) + b"," + content[content.index(b"[") + 1 :])


def _sources(plan: Plan, level: str) -> dict[str, str]:
    """Return the project's own kernel sources by the file names of their copies at a `level`."""
    return {
        cell.copy: kernel.shown_path
        for kernel in plan.kernels
        for cell in kernel.cells
        if cell.level == level and cell.copy and kernel.language in SHOWN and not kernel.generated
    }


def _entries(
    known: Iterable[Mapping[str, Any]], lines: Mapping[str, str], guard: str, left_out: tuple[str, ...]
) -> Iterator[dict[str, str]]:
    """Yield an entry for each kernel source, made of that of its copy; `lines` maps copies to sources."""
    for entry in known:
        file = entry["file"]
        line = lines.get(file)
        if line is None:
            continue
        command, _, end = entry["command"].rpartition(" -c ")
        if not _is_one(end, file):  # a path that contains ' -c '
            continue
        for word in left_out:
            command = command.replace(f" {word} ", " ")
        command = f"{command} -include {guard} -c {quote(line)}"
        yield {"directory": entry["directory"], "command": command, "file": line}


def _is_one(text: str, word: str) -> bool:
    """Return whether a shell reads `text` as the one `word`."""
    try:
        return split_words(text) == [word]
    except ValueError:
        return False


def _text(entry: Mapping[str, str]) -> bytes:
    """Return an entry as ninja writes it: `json` writes lines in Python, which takes long for thousands."""
    lines = ",\n".join(f'    "{key}": {json.dumps(value)}' for key, value in entry.items())
    return f"  {{\n{lines}\n  }}".encode("ascii")
