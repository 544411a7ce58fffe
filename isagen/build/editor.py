"""Entries of kernel sources for editors, where there are too many for a target of Meson that nothing builds."""

from __future__ import annotations

import json
import os

from ..model.files import write_atomically
from ..model.names import guard_name
from ..model.plan_file import outputs_of, shown_sources
from ..model.read_json import read_json

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

COMMANDS = "compile_commands.json"
SHOWN = ("c", "cpp")


def add_entries(root: str, plan_path: str, level: str, left_out: Iterable[str]) -> None:
    """Add to the commands in the build folder `root` how each kernel source is compiled at `level`.

    That is the command of its copy, without the arguments that are `left_out`. What Meson did not write is not read.
    """
    path = os.path.join(root, COMMANDS)
    try:
        with open(path, "rb") as stream:
            content = stream.read()
        known = read_json(content.decode(errors="surrogateescape"))
    except (OSError, ValueError):
        return
    folder = os.path.dirname(plan_path)
    place = os.path.relpath(outputs_of(folder) or folder, root).replace(os.sep, "/")
    sources = shown_sources(plan_path, level, SHOWN)
    lines = {f"{place}/{copy}" if place != "." else copy: line for copy, line in sources.items()}
    found = [entry for entry in known if entry["file"] in lines]
    there = {entry["file"] for entry in known}
    entries = _entries(found, lines, guard_name(level), tuple(left_out))
    added = [_text(entry) for entry in entries if entry["file"] not in there]
    if added:  # writing all of them anew would take longer
        head = content[: content.rindex(b"]")].rstrip()
        write_atomically(path, b",\n".join([head, *added]) + b"\n]\n")


def _entries(
    found: Iterable[Mapping[str, Any]], lines: Mapping[str, str], guard: str, left_out: tuple[str, ...]
) -> Iterator[dict[str, str]]:
    """Yield an entry for each kernel source from that of its copy; `lines` are sources by copies."""
    for entry in found:
        file, command = entry["file"], entry["command"]
        end = f" -c {file}"
        if not command.endswith(end):  # quoted for a shell
            continue
        command = command.removesuffix(end)
        for word in left_out:
            command = command.replace(f" {word} ", " ")
        line = lines[file]
        yield {"directory": entry["directory"], "command": f"{command} -include {guard} -c {line}", "file": line}


def _text(entry: Mapping[str, str]) -> bytes:
    """Return an entry as ninja writes it: `json` writes lines in Python, which takes long for thousands."""
    lines = ",\n".join(f'    "{key}": {json.dumps(value)}' for key, value in entry.items())
    return f"  {{\n{lines}\n  }}".encode("ascii")
