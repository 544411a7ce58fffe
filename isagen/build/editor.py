"""Entries of kernel sources for editors, where there are too many for a target of Meson that nothing builds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..model.files import write_if_changed
from ..model.names import guard_name
from ..model.plan import KernelRow
from ..model.plan_file import outputs_folder, read_plan

COMMANDS = "compile_commands.json"
SHOWN = ("c", "cpp")


def add_entries(root: str, plan_path: str, level: str, left_out: Iterable[str]) -> None:
    """Add to the commands in the build folder `root` how each kernel source is compiled at `level`.

    That is the command of its copy, without the arguments that are `left_out`. What Meson did not write is not read.
    """
    path = os.path.join(root, COMMANDS)
    try:
        text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
        known = json.loads(text)
    except (OSError, ValueError):
        return
    plan = read_plan(Path(plan_path)).plan
    place = outputs_folder(Path(plan_path).parent)
    copies = {
        os.path.realpath(place / cell.copy): kernel
        for kernel, cell in plan.copies()
        if cell.level == level and not kernel.generated and kernel.language in SHOWN
    }
    names = {os.path.basename(copy) for copy in copies}
    found = [entry for entry in known if os.path.basename(entry["file"]) in names]
    there = {entry["file"] for entry in known}
    entries = _entries(found, copies, guard_name(level), tuple(left_out))
    added = [json.dumps(entry, indent=2) for entry in entries if entry["file"] not in there]
    if added:  # writing all of them anew would take longer
        head = text.rstrip().removesuffix("]").rstrip()
        write_if_changed(path, ",\n".join([head, *added]) + "\n]\n")


def _entries(
    found: Iterable[Mapping[str, Any]], copies: Mapping[str, KernelRow], guard: str, left_out: tuple[str, ...]
) -> Iterator[dict[str, str]]:
    """Yield an entry for each kernel source from that of its copy."""
    for entry in found:
        file, command = entry["file"], entry["command"]
        kernel = copies.get(os.path.realpath(os.path.join(entry["directory"], file)))
        end = f" -c {file}"
        if kernel is None or not command.endswith(end):  # quoted for a shell
            continue
        command = command.removesuffix(end)
        for word in left_out:
            command = command.replace(f" {word} ", " ")
        command = f"{command} -include {guard} -c {kernel.line}"
        yield {"directory": entry["directory"], "command": command, "file": kernel.line}
