"""Sealing: one relocatable object per level, whose weak functions no other object can borrow.

`ld -r --force-group-allocation` dissolves the COMDAT groups, then weak functions are made local. Weak data, such as
function statics and inline variables, stays shared as the language says.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import BuildError
from ..files import write_if_changed
from .objects import defined_symbols
from .plan_file import read_plan
from .registrations import registered_by_kernel


def seal(plan_path: Path, level: str, objects: Sequence[Path], registrations: Path, output: Path | None) -> None:
    """Join the `objects` of `level` into `output`, sealed with the tools that the plan names.

    What the objects register is noted in `registrations`. Without `output`, that is all that is done.
    """
    plan = read_plan(plan_path)
    noted = json.dumps(registered_by_kernel(plan, level, objects), indent=1) + "\n"
    if output is not None:
        _seal(plan["seal"], level, objects, output)
    write_if_changed(registrations, noted)


def _seal(tools: Mapping[str, Any], level: str, objects: Sequence[Path], output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".isagen-seal-") as folder:
        joined = Path(folder, "joined.o")
        # The objects' names go through a response file: a thousand kernels do not fit on a command line.
        listed = Path(folder, "objects.rsp")
        listed.write_text("\n".join(_quoted(str(path)) for path in objects) + "\n", encoding="utf-8")
        call([*tools["link"], "-o", str(joined), f"@{listed}"], f"joining the objects of {level}")
        weak = sorted({s.name for s in defined_symbols(joined) if s.kind == "FUNC" and s.binding == "WEAK"})
        if weak:  # GNU objcopy refuses an empty list
            names = Path(folder, "weak.txt")
            names.write_text("\n".join(weak) + "\n", encoding="utf-8")
            call([*tools["objcopy"], f"--localize-symbols={names}", str(joined)], f"sealing {level}")
        write_if_changed(output, joined.read_bytes())


def call(command: Sequence[str], doing: str) -> None:
    """Run a tool; raise `BuildError` with its own words if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as problem:
        raise BuildError(f"{doing}: {command[0]!r} cannot be run: {problem.strerror}") from None
    if done.returncode != 0:
        said = (done.stderr + done.stdout).decode(errors="replace").strip()
        raise BuildError(f"{doing} failed: {' '.join(command)}\n{said}")


def _quoted(path: str) -> str:
    """Quote a path for a response file of GCC or Clang."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
