"""`isagen diff`: shows what differs between two build matrices."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from ..matrix.difference import differences
from ..matrix.where import Found, find_matrices
from ..model.errors import ProjectError
from .matrix import WHERE
from .output import add_output, write
from .parser import Commands

FAILED = 2  # the exit status of an error; 1 means that something differs


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "diff",
        help="show what differs between two builds",
        description="Show what differs between two build matrices: compilers, levels, flags, kernels and code. "
        "The exit status is 0 where nothing differs, 1 where something does, and 2 where it fails.",
    )
    parser.add_argument("before", metavar="A", help=WHERE)
    parser.add_argument("after", metavar="B", help="the same")
    add_output(parser, ("text", "json"))
    parser.set_defaults(run=run, failed=FAILED)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    pairs = _pairs(options, find_matrices(options.before), find_matrices(options.after))
    changes = [(name, change) for name, old, new in pairs for change in differences(old.matrix, new.matrix)]
    if options.format == "json":
        write(options, json.dumps([{"in": name, **asdict(change)} for name, change in changes], indent=2) + "\n")
    else:
        lines = []
        for name, change in changes:
            lines.append(f"{name}: {change.what}" if len(pairs) > 1 else change.what)
            lines += [f"  - {change.before or '(none)'}", f"  + {change.after or '(none)'}"]
        write(options, "".join(f"{line}\n" for line in lines or ["nothing differs"]))
    return 1 if changes else 0


def _pairs(options: argparse.Namespace, before: list[Found], after: list[Found]) -> list[tuple[str, Found, Found]]:
    """Return pairs of matrices, with their name. Raises `ProjectError` if the sides are not of the same binaries."""
    if len(before) == len(after) == 1:
        return [("", before[0], after[0])]
    old, new = (
        {(found.matrix.project, found.label.rpartition("/")[2]): found for found in side} for side in (before, after)
    )
    if old.keys() != new.keys() or len(old) != len(before) or len(new) != len(after):
        raise ProjectError(
            f"the matrices there ({len(before)}) and in {options.after} ({len(after)}) are not of the same binaries",
            where=options.before,
            remedy="give one binary or build folder on each side",
        )
    return [(key[1], old[key], new[key]) for key in old]
