"""The command line of the build steps; the copied tool's only entry point."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import IsagenError
from .emit import emit
from .seal import seal
from .stubs import write_dispatch_source


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one build step and return the exit status."""
    parser = argparse.ArgumentParser(prog="isagen step", allow_abbrev=False)
    parser.add_argument("step", choices=("emit", "seal", "stubs"))
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--level", default="")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("inputs", type=Path, nargs="*")
    options = parser.parse_intermixed_args(arguments)
    try:
        if options.step == "emit":
            emit(options.plan, options.output)
        elif options.step == "seal":
            seal(options.plan, options.level, options.inputs, options.output)
        else:
            write_dispatch_source(options.plan, options.inputs, options.output)
    except IsagenError as problem:
        print(f"isagen: error: {problem}", file=sys.stderr)
        return problem.exit_code
    return 0
