"""What the audit of a linked file means for the build: the findings that are printed, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ..audit.findings import WARNINGS, Result
from ..model.errors import IsagenError, reported
from .linker_process import discard


def status_of(mode: str, output: str, audit: Callable[[], Result | None]) -> int:
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


def _report(mode: str, result: Result) -> int:
    """Print the findings of a `result`, and return the exit status."""
    from ..audit.report import text_of  # most links have no finding

    is_fault = mode == "error" and any(finding.kind not in WARNINGS for finding in result.findings)
    print(f"isagen audit: {'error' if is_fault else 'warning'}: {text_of(result)}", end="", file=sys.stderr)
    if is_fault:
        print("  to build nevertheless: -Disa_audit=warn", file=sys.stderr)
    return int(is_fault)
