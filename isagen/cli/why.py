"""`isagen why`: explains why a level, or a kernel at a level, is or is not built, supported and selected."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from ..matrix.selection import selection_here
from ..matrix.where import find_matrices
from ..matrix.why import Explanation, explain
from ..model.errors import ProjectError
from .matrix import WHERE
from .output import add_output, wrapped, write
from .parser import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "why",
        help="say why a level is or is not built, supported and selected",
        description="Say why a level, or one kernel at it, is or is not built, supported here, and selected.",
    )
    parser.add_argument("level", metavar="LEVEL", help="a level of the build, in any case")
    parser.add_argument("kernel", nargs="?", default="", metavar="KERNEL", help="a kernel's path or its end, or a stub")
    parser.add_argument("where", metavar="WHERE", help=WHERE)
    add_output(parser, ("text", "json"))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    matrices = find_matrices(options.where)
    explanations: list[tuple[str, Explanation]] = []
    problems: list[ProjectError] = []
    for found in matrices:
        here = selection_here(found.matrix)
        try:
            explanations.append((found.label, explain(found.matrix, options.level, options.kernel, here)))
        except ProjectError as problem:  # another matrix may have the level or the kernel
            problems.append(problem)
    if not explanations:
        raise problems[0]
    if options.format == "json":
        data = [{"where": label, **asdict(explanation)} for label, explanation in explanations]
        write(options, json.dumps(data[0] if len(matrices) == 1 else data, indent=2) + "\n")
        return 0
    lines = []
    for label, explanation in explanations:
        lines.append((f"{label}: " if len(matrices) > 1 else "") + explanation.sentence)
        lines += [f"  {detail}" for detail in explanation.details]
    write(options, wrapped(lines))
    return 0
