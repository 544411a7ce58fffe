"""Sealing: one relocatable object per level, whose weak functions no other object can borrow.

`ld -r --force-group-allocation` dissolves the COMDAT groups, then weak functions are made local. Weak data, such as
function statics and inline variables, stays shared as the language says.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..errors import BuildError
from .objects import defined_symbols
from .plan_file import read_plan


def seal(plan_path: Path, level: str, objects: Sequence[Path], output: Path) -> None:
    """Join the `objects` of `level` into `output`, sealed with the tools that the plan names."""
    tools = read_plan(plan_path)["seal"]
    check_single_registration(level, objects)
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
        os.replace(joined, output)


def check_single_registration(level: str, objects: Iterable[Path]) -> None:
    """Raise `BuildError` if two objects of one level register the same stub."""
    seen: dict[str, Path] = {}
    prefix = f"isa_kernel_{level}__"
    for path in objects:
        for symbol in defined_symbols(path):
            if symbol.name.startswith(prefix):
                stub = symbol.name.removeprefix(prefix)
                if stub in seen:
                    raise BuildError(
                        f"{stub} is registered twice at level {level}: in {seen[stub].name} and in {path.name}",
                        where=stub,
                        remedy="a stub takes one kernel per level; remove one ISA_REGISTER_DISPATCH, or rename a stub",
                    )
                seen[stub] = path


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
