"""`isagen tune`: says which levels pay for their bytes, by a benchmark of the project."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from ..matrix.where import Found
from ..model.errors import ConfigError, ProjectError
from ..tune.results import Results
from .common import Commands
from .matrix import WHERE
from .output import add_output, write


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "tune",
        help="say which levels pay for their bytes, by a benchmark",
        description="Run a benchmark of the project at each level in turns, and say which levels pay for their bytes. "
        "The benchmark prints lines NAME SECONDS, where NAME is a kernel's path, its end, or a stub; without such "
        "lines the time of the whole command counts, for all kernels together.",
    )
    parser.add_argument("where", metavar="WHERE", help=WHERE)
    parser.add_argument("--rounds", type=int, default=9, help="how often each level runs; default: 9, at least 6")
    parser.add_argument("--margin", type=float, default=3, help="percent of speed that are worth a copy; default: 3")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the times to FILE, to merge on other machines")
    parser.add_argument(
        "--merge", type=Path, action="append", default=[], metavar="FILE", help="count the times of a FILE too"
    )
    parser.add_argument("--write", type=Path, metavar="ISA_TOML", help="switch levels that do not pay off in this file")
    add_output(parser, ("text", "json"))
    parser.usage = "%(prog)s [options] WHERE -- COMMAND ..."
    parser.rest = "args"
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from dataclasses import asdict

    from ..model.files import write_if_changed
    from ..tune.advice import advise, text_of
    from ..tune.config_file import check_writable, write_levels
    from ..tune.judge import FEWEST
    from ..tune.results import read_results, results_text

    if options.rounds < FEWEST:
        raise ConfigError(
            f"{options.rounds} rounds say nothing with confidence", where="--rounds", remedy=f"at least {FEWEST} do"
        )
    if not 0 <= options.margin < 100:
        raise ConfigError(
            f"{options.margin} percent are no gain", where="--margin", remedy="give 0 or more: --margin 3"
        )
    earlier = [read_results(path) for path in options.merge]
    if not options.args and (not earlier or options.save):
        raise ConfigError(
            "there is no benchmark", where="isagen tune", remedy="name it: isagen tune build -- python bench.py"
        )
    if options.write:
        check_writable(options.write)
    measured = [_measure(options)] if options.args else []
    if options.save:
        write_if_changed(options.save, results_text(measured[0]))
    results = [*measured, *earlier]
    advice, left_out = advise(results, options.margin / 100)
    if options.format == "json":
        data = {"kernels": [{**asdict(one), "dropped": one.dropped} for one in advice], "left_out": left_out}
        write(options, json.dumps(data, indent=2) + "\n")
    else:
        write(options, text_of(advice, left_out, len(results) > 1))
    if options.write:
        heading = f"isagen tune, {results[0].date}, {', '.join(one.cpu for one in results)}"
        said = write_levels(options.write, advice, heading, len(results) > 1)
        print("\n".join(f"{options.write}: {line}" for line in said or ["nothing to change"]), file=sys.stderr)
    return 0


def _measure(options: argparse.Namespace) -> Results:
    """Run the benchmark at each level of the only matrix that WHERE has, as far as this machine runs it."""
    import time

    from ..matrix.here import here
    from ..matrix.where import find_matrices
    from ..processors.cpu_name import cpu_name
    from ..processors.registry import this_machine
    from ..tune.results import Results, Timed
    from ..tune.run import PROGRAM, run_rounds
    from .progress import progress

    found = find_matrices(options.where)
    if len(found) > 1:
        raise ProjectError(
            f"holds {len(found)} sets of kernels: {', '.join(one.matrix.project for one in found)}",
            where=options.where,
            remedy="give a module or library that holds one of them",
        )
    matrix = found[0].matrix
    if not matrix.override:
        raise ProjectError(
            "its level cannot be chosen: isa.toml has no override",
            where=options.where,
            remedy='set override = "NAME_ISA" for the build that is measured',
        )
    now = here(matrix)
    if now.problem:
        raise ProjectError(now.problem, where=options.where, remedy="measure on a machine that runs the build")
    built = [level.name for level in matrix.levels if level.verdict == "built"]
    levels = [level for level in built if not now.missing[level]]
    if not levels:
        lacking = ", ".join(now.missing[built[0]])
        raise ProjectError(f"does not run here, where {lacking} is missing", where=options.where)
    if len(levels) < 2:
        raise ProjectError(f"runs at {levels[0]} alone here", where=options.where, remedy="build more levels")
    with progress() as line:
        times = run_rounds(options.args, matrix.override, levels, options.rounds, _names(found[0]), line.show)
    if PROGRAM in times:
        print("isagen: no line names a kernel: the time of the whole command counts", file=sys.stderr)
    cells = {kernel.source: kernel.levels for kernel in matrix.kernels}
    codes = {
        source: {level: cell.code.digest for level, cell in row.items() if cell.code} for source, row in cells.items()
    }
    codes[PROGRAM] = {level: _digest(row[level] for row in codes.values() if level in row) for level in built}
    sizes = {
        source: {level: 0 if cell.folded else cell.code.loaded_bytes for level, cell in row.items() if cell.code}
        for source, row in cells.items()
    }
    sizes[PROGRAM] = {level: sum(row.get(level, 0) for row in sizes.values()) for level in built}
    return Results(
        cpu=cpu_name(this_machine(matrix.features)),
        project=matrix.project,
        compilers=tuple(f"{language}: {one.name}" for language, one in matrix.compilers.items()),
        command=tuple(options.args),
        date=time.strftime("%Y-%m-%d"),
        levels=tuple(built),
        requires={level.name: level.requires for level in matrix.levels if level.name in built},
        bytes={source: sizes[source] for source in times},
        kernels={source: Timed(by_level, codes.get(source, {})) for source, by_level in times.items()},
    )


def _digest(parts: Iterable[str]) -> str:
    """Return a digest of the code of all kernels at a level."""
    from hashlib import sha256

    return sha256("\n".join(sorted(parts)).encode()).hexdigest()


def _names(found: Found) -> dict[str, str]:
    """Return the kernel source of each name that a line may have; a name that several kernels end in is none's."""
    from ..tune.run import PROGRAM

    names: dict[str, str] = {}
    ends: dict[str, set[str]] = {}
    for kernel in found.matrix.kernels:
        parts = kernel.source.split("/")
        for place in range(len(parts)):
            ends.setdefault("/".join(parts[place:]), set()).add(kernel.source)
        for cell in kernel.levels.values():
            names |= dict.fromkeys(cell.stubs or (), kernel.source)
    if not names:  # a whole module, whose kernels have their levels together
        return dict.fromkeys(ends, PROGRAM)
    return names | {end: next(iter(sources)) for end, sources in ends.items() if len(sources) == 1}
