"""Sealing: one relocatable object per level, whose weak code and constants no other object can borrow.

`ld -r --force-group-allocation` dissolves the COMDAT groups, then weak functions are made local, and weak constants
with them: vtables hold addresses of code, and tables may be laid out for the level's vectors. What can be written to,
such as function statics and inline variables, stays shared as the language says; so does type information, by which
exceptions are caught. What is shared must be the same at all levels: `registrations` checks its size.
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
from .objects import Symbol, defined_symbols
from .plan_file import read_plan
from .registrations import registered_by_kernel

# Itanium C++ ABI: typeinfo structures and names.
TYPE_INFORMATION = ("_ZTI", "_ZTS")


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
        call([*tools["link"], "-o", str(joined), *map(str, objects)], f"joining the objects of {level}")
        weak = sorted({s.name for s in defined_symbols(joined) if s.binding == "WEAK" and is_private(s)})
        if weak:  # GNU objcopy refuses an empty list
            names = Path(folder, "weak.txt")
            names.write_text("\n".join(weak) + "\n", encoding="utf-8")
            call([*tools["objcopy"], f"--localize-symbols={names}", str(joined)], f"sealing {level}")
        write_if_changed(output, joined.read_bytes())


def is_private(symbol: Symbol) -> bool:
    """Return whether a weak symbol belongs to its level alone: code, and constants but for type information."""
    return symbol.kind == "FUNC" or (
        symbol.kind == "OBJECT" and symbol.constant and not symbol.name.startswith(TYPE_INFORMATION)
    )


def call(command: Sequence[str], doing: str) -> None:
    """Run a tool; raise `BuildError` with its own words if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    except OSError as problem:
        raise BuildError(f"{doing}: {command[0]!r} cannot be run: {problem.strerror}") from None
    if done.returncode != 0:
        said = (done.stderr + done.stdout).decode(errors="replace").strip()
        raise BuildError(f"{doing} failed: {' '.join(command)}\n{said}")
