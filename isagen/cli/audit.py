"""`isagen audit`: reports the instructions of compiled code that are not checked at run time."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..model.errors import AuditError, did_you_mean

if TYPE_CHECKING:
    from ..audit.baseline import Baseline
    from .common import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("audit", help="report instructions that are not checked at run time")
    parser.add_argument(
        "targets",
        type=Path,
        nargs="+",
        metavar="TARGET",
        help="a build folder, an object, a library, a program, a wheel, or a folder of them",
    )
    parser.add_argument(
        "--baseline",
        metavar="LEVEL",
        help="what a file must run on, outside its levels: X86_64_V2, ...; default: what its build says, or X86_64",
    )
    parser.add_argument("--all", action="store_true", help="show every finding, not the first few of each kind")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..audit.report import as_data, as_text, found_any
    from ..audit.targets import audit_targets

    results = audit_targets(options.targets, _baseline(options.baseline))
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # symbols may be of any letters
    if options.format == "json":
        print(json.dumps(as_data(results), indent=2))
    else:
        sys.stdout.write(as_text(results, every=options.all))
    problems = [result.problem for result in results if result.problem]
    for problem in problems:
        print(f"isagen: error: {problem}", file=sys.stderr)
    return AuditError.exit_code if problems else int(found_any(results))


def _baseline(asked: str | None) -> Baseline:
    """Return what --baseline names, a level of the processor's baseline table. Raises `AuditError` if not."""
    from ..audit.baseline import Baseline
    from ..processors.registry import audited_processor
    from ..processors.table import load_table

    table = load_table(audited_processor().baseline_table, Path.cwd(), "--baseline")
    name = (asked or table.base.name).upper().replace("-", "_")
    if name not in table.names():
        raise AuditError(
            f"there is no level {asked!r}",
            where="--baseline",
            remedy=did_you_mean(asked or "", table.names()),
        )
    return Baseline(name, table.required_features(name), everywhere=asked is not None)
