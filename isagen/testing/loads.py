"""The report of a run: each program or module that was loaded, the level that it used, and the build that it is of."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..binary.formats import is_binary, open_binary
from ..matrix.built import matrices_in
from ..model.errors import IsagenError, ProjectError
from ..model.matrix import Matrix

# The environment variable that names the report. Each program or module, when loaded, adds a line
# "VARIABLE LEVEL BEST PATH" to this file (templates/isa_override.c.j2).
REPORT = "ISAGEN_TEST_REPORT"


@dataclass(frozen=True)
class Load:
    """A program or module that was loaded: the `file`, the `level` that it used, and the `best` level of its CPU."""

    level: str
    best: str
    file: str


def run_with_level(
    command: Sequence[str], level: str, variables: Sequence[str], output: int = 2
) -> tuple[int, list[Load]]:
    """Run a command with the level in the environment `variables`; return its status, and what it loaded.

    The command's output goes to the file descriptor `output`: not to stdout, which with --format json contains only
    isagen's results.
    """
    with tempfile.TemporaryDirectory(prefix="isagen-test-") as folder:
        report = Path(folder, "report")
        environment = {**os.environ, **dict.fromkeys(variables, level), REPORT: str(report)}
        try:
            status = subprocess.run(command, env=environment, stdout=output, check=False).returncode
        except OSError as problem:
            raise ProjectError(
                f"cannot be run: {problem.strerror}", where=command[0], remedy="give the command of the tests after --"
            ) from None
        lines = report.read_text("utf-8", "surrogateescape").splitlines() if report.exists() else []
    # A file that an older isagen built reports neither BEST nor PATH.
    words = [(*line.split(" ", 3), "", "")[:4] for line in lines]
    return status, [Load(used, best, file) for variable, used, best, file in words if variable in variables]


def is_of_build(file: str, matrices: Iterable[Matrix]) -> bool:
    """Return whether a loaded file contains the kernels of one of the `matrices`, compiled to the same code.

    Installing and stripping change neither; a build of other sources or with other options has other code. A file that
    the command deleted or overwrote after it was loaded cannot be compared, and counts.
    """
    path = Path(file)
    if file and not path.exists():
        return True
    if not is_binary(path):
        return False
    try:
        with open_binary(path, file) as binary:
            return any(_same_code(loaded, matrix) for loaded in matrices_in(binary) for matrix in matrices)
    except IsagenError:
        return True


def _same_code(one: Matrix, other: Matrix) -> bool:
    """Return whether no kernel differs. A front of a whole module contains no code, and cannot be compared."""
    if (one.project, one.override) != (other.project, other.override):
        return False
    codes = [
        {(kernel.source, level): cell.code.digest for kernel, level, cell in matrix.cells() if cell.code is not None}
        for matrix in (one, other)
    ]
    return all(codes[0][key] == codes[1][key] for key in codes[0].keys() & codes[1].keys())


def status_text(status: int) -> str:
    """Return the status of a process that failed, or its signal's name; Python has none for most real-time signals."""
    if status > 0:
        return f"status {status}"
    return signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
