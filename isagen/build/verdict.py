"""What the audit of a linked file means for the build: the findings that are printed, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..audit.findings import WARNINGS, Result
from ..model.errors import IsagenError, reported
from ..model.files import content_digest, mapped
from .linker_process import discard


def judge(mode: str, output: str, audit: Callable[[], Result | None]) -> int:
    """Call the `audit` of the file `output`, print what it finds, and return the exit status.

    In `mode` error, a fault removes the file. In mode warn, it is a warning.
    """
    try:
        result = audit()
    except (IsagenError, OSError) as problem:
        if mode != "warn":
            raise
        print(f"isagen audit: warning: {reported(problem)}", file=sys.stderr)
        return 0
    status = _report(mode, result) if result is not None and result.findings else 0
    if status:
        discard(output)
    return status


def mark(mode: str, output: str) -> None:
    """Note that the linked file `output` has been audited in a `mode`."""
    with suppress(OSError):  # a link of Meson's own checks has no such folder
        _mark_of(output).write_text(_text_of_mark(mode, output))


def is_marked(mode: str, output: str) -> bool:
    """Return whether the linked file `output` has been audited in a `mode`, and is unchanged.

    Its content decides: times change with copies of the build folder, and with the clock.
    """
    try:
        return _mark_of(output).read_text() == _text_of_mark(mode, output)
    except (OSError, ValueError):
        return False


def _mark_of(output: str) -> Path:
    """Return the path of the file that marks `output` as audited, in the folder of its target's objects."""
    return Path(f"{output}.p", "isa_audited")


def _text_of_mark(mode: str, output: str) -> str:
    return f"{mode} {content_digest(mapped(output))}\n"


def _report(mode: str, result: Result) -> int:
    """Print the findings of a `result`, and return the exit status."""
    from ..audit.report import text_of  # most links have no finding

    is_fault = mode == "error" and any(finding.kind not in WARNINGS for finding in result.findings)
    print(f"isagen audit: {'error' if is_fault else 'warning'}: {text_of(result)}", end="", file=sys.stderr)
    if is_fault:
        print("  to build nevertheless: -Disa_audit=warn", file=sys.stderr)
    return int(is_fault)
