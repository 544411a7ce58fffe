"""`isagen matrix`, `why`, `diff` and `report`: what was built, why not the rest, what differs, and a bug report."""

from __future__ import annotations

import argparse
import io
from dataclasses import asdict
from typing import Any

from ..matrix.built import objects_of
from ..matrix.difference import differences
from ..matrix.html import html_text
from ..matrix.loops import hot_loops
from ..matrix.report import report_text
from ..matrix.selection import selection_here
from ..matrix.terminal import print_matrix
from ..matrix.where import Found, find_matrices
from ..matrix.why import Explanation, explain
from ..model.errors import ProjectError
from ..model.matrix import Matrix
from ..model.names import MATRIX_FORMAT
from .output import add_output, standard_output, write, write_data, write_lines
from .parser import Commands

WHERE = "a build folder, a binary, a wheel, a folder of builds, binaries or wheels, or the name of an installed module"
FORMATS = ("terminal", "html", "json")


def add_matrix(commands: Commands) -> None:
    """Add the parser of `isagen matrix`."""
    parser = commands.add_parser(
        "matrix",
        help="show what was built, and why not the rest",
        description="Show the build matrix: every kernel at every level, with flags, verdict, reason and code size.",
    )
    parser.add_argument("where", nargs="+", metavar="WHERE", help=WHERE)
    add_output(parser, FORMATS)
    parser.add_argument("--flags", action="store_true", help="show each level's flags, in the terminal")
    parser.set_defaults(run=run_matrix)


def run_matrix(options: argparse.Namespace) -> int:
    """Run `isagen matrix`."""
    matrices = [found for where in options.where for found in find_matrices(where)]
    if options.format == "html":
        builds = []
        for found in matrices:
            label = f"{found.label}, {found.matrix.project}" if len(matrices) > 1 else found.label
            loops = hot_loops(found.matrix, objects_of(found.plan)) if found.plan is not None else {}
            builds.append((label, found.matrix, loops))
        write(options, html_text(builds))
    elif options.format == "terminal":
        stream = io.StringIO() if options.output is not None else standard_output()
        for number, found in enumerate(matrices):
            if number:
                print(file=stream)
            label = found.label if len(matrices) > 1 else ""
            print_matrix(found.matrix, label, stream, selection_here(found.matrix), options.flags)
        if isinstance(stream, io.StringIO):
            write(options, stream.getvalue())
    else:
        data = [{"where": found.label, **as_data(found.matrix)} for found in matrices]
        write_data(options, data if len(data) > 1 else as_data(matrices[0].matrix))
    return 0


def as_data(matrix: Matrix) -> dict[str, Any]:
    """Return a matrix as plain data, which docs/matrix.schema.json describes."""
    return {"format": MATRIX_FORMAT, **asdict(matrix)}


def add_why(commands: Commands) -> None:
    """Add the parser of `isagen why`."""
    parser = commands.add_parser(
        "why",
        help="say why a level is or is not built, supported and selected",
        description="Say why a level, or one kernel at it, is or is not built, supported here, and selected.",
    )
    parser.add_argument(
        "level",
        metavar="LEVEL",
        help="a level of the build, in upper or lower case; with a KERNEL, default: the level selected here",
    )
    parser.add_argument(
        "kernel", nargs="?", default="", metavar="KERNEL", help="a kernel's path or the end of that path, or a stub"
    )
    parser.add_argument("where", metavar="WHERE", help=WHERE)
    add_output(parser, ("text", "json"))
    parser.set_defaults(run=run_why)


def run_why(options: argparse.Namespace) -> int:
    """Run `isagen why`."""
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
        write_data(options, data[0] if len(matrices) == 1 else data)
        return 0
    lines = []
    for label, explanation in explanations:
        lines.append((f"{label}: " if len(matrices) > 1 else "") + explanation.sentence)
        lines += [f"  {detail}" for detail in explanation.details]
    write_lines(options, lines)
    return 0


def add_diff(commands: Commands) -> None:
    """Add the parser of `isagen diff`."""
    parser = commands.add_parser(
        "diff",
        help="show what differs between two builds",
        description="Show what differs between two build matrices: compilers, levels, flags, kernels and code. "
        "The exit status is 0 where nothing differs, 1 where something does, and 2 where it fails.",
    )
    parser.add_argument("before", metavar="A", help=WHERE)
    parser.add_argument("after", metavar="B", help="the same")
    add_output(parser, ("text", "json"))
    parser.set_defaults(run=run_diff)


def run_diff(options: argparse.Namespace) -> int:
    """Run `isagen diff`."""
    pairs = _pairs(options, find_matrices(options.before), find_matrices(options.after))
    changes = [(name, change) for name, old, new in pairs for change in differences(old.matrix, new.matrix)]
    if options.format == "json":
        write_data(options, [{"in": name, **asdict(change)} for name, change in changes])
    else:
        lines = []
        for name, change in changes:
            lines.append(f"{name}: {change.what}" if len(pairs) > 1 else change.what)
            lines += [f"  - {change.before or '(none)'}", f"  + {change.after or '(none)'}"]
        write_lines(options, lines or ["nothing differs"], indent=" " * 6)
    return 1 if changes else 0


def _pairs(options: argparse.Namespace, before: list[Found], after: list[Found]) -> list[tuple[str, Found, Found]]:
    """Pair the matrices of both sides by binary, and return (name, old, new) of each pair.

    If each side has one matrix, the name is "". Raises `ProjectError` if the sides are not of the same binaries, or if
    a side contains two matrices of the same project and file name.
    """
    if len(before) == len(after) == 1:
        return [("", before[0], after[0])]
    old, new = (
        {(found.matrix.project, found.label.rpartition("/")[2]): found for found in side} for side in (before, after)
    )
    if old.keys() != new.keys() or len(old) != len(before) or len(new) != len(after):
        raise ProjectError(
            f"the matrices there ({len(before)}) and in {options.after} ({len(after)}) cannot be paired: they "
            "are not of the same binaries, or two have one name",
            where=options.before,
            remedy="give one binary or build folder on each side",
        )
    return [(key[1], old[key], new[key]) for key in old]


def add_report(commands: Commands) -> None:
    """Add the parser of `isagen report`."""
    parser = commands.add_parser(
        "report",
        help="report on a build and this machine, for a bug report",
        description="Report as Markdown what was built, which levels CPU and OS support, and which one is selected. "
        "Nothing in it names a user, a host or a folder.",
    )
    parser.add_argument("where", metavar="WHERE", help=WHERE)
    add_output(parser)
    parser.set_defaults(run=run_report)


def run_report(options: argparse.Namespace) -> int:
    """Run `isagen report`."""
    write(options, "\n".join(map(report_text, find_matrices(options.where))))
    return 0
