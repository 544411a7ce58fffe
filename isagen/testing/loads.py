"""Runs a command at a level, reads which programs and modules it loaded, and finds whether these are of a build."""

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

# The environment variable that names a file, the report. On Linux, each program or module with an override adds a line
# "VARIABLE LEVEL BEST PATH" to the file when it is loaded (templates/isa_override.c.j2).
REPORT = "ISAGEN_TEST_REPORT"


@dataclass(frozen=True)
class Load:
    """A program or module that was loaded, and the `level` that it used.

    `best` is the best level that CPU and OS support, as the file detected. `best` and `file` are "" if unknown.
    """

    level: str
    best: str
    file: str


def run_with_level(
    command: Sequence[str], level: str, variables: Sequence[str], output: int = 2
) -> tuple[int, list[Load]]:
    """Run a command with `level` as the value of the environment `variables`; return its status, and what it loaded.

    Only programs and modules with one of `variables` as their override variable are returned. The command's standard
    output goes to the file descriptor `output`, by default that of the standard error, because isagen's results go to
    the standard output. Raises `ProjectError` if the command cannot be started.
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
    """Return whether a loaded file may be of the build of one of the `matrices`: not if a copy in both differs in code.

    Installing and stripping do not change the code; other sources or options mostly do. The result is True for a file
    that was deleted after it was loaded and for a binary that cannot be read, and False for the name "".
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
    """Return whether two matrices are of the same project and override, and no copy in both differs in code.

    The front of a whole module, which is the part that Python imports, contains no copy, so no copy differs.
    """
    if (one.project, one.override) != (other.project, other.override):
        return False
    codes = [
        {(kernel.source, level): cell.code.digest for kernel, level, cell in matrix.cells() if cell.code is not None}
        for matrix in (one, other)
    ]
    return all(codes[0][key] == codes[1][key] for key in codes[0].keys() & codes[1].keys())


def status_text(status: int) -> str:
    """Return the status of a process that failed, or the name or number of the signal that ended it."""
    if status > 0:
        return f"status {status}"
    return signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
