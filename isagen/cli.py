"""The command line: parses arguments, calls one function, and is the one place that turns an error into an exit."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import __version__
from .configure.request import add_arguments
from .model.errors import AuditError, IsagenError, did_you_mean

if TYPE_CHECKING:
    from .processors.table import Table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that `arguments` (default: the process's own) name; return the exit status."""
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    if unknown and options.run is not _configure:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    options.unknown = unknown
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except IsagenError as problem:
        print(f"isagen: error: {problem}", file=sys.stderr)
        return problem.exit_code
    except PermissionError as problem:
        print(f"isagen: error: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return IsagenError.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="isagen", description="Kernels compiled once per CPU instruction-set level, on stock Meson."
    )
    parser.add_argument("--version", action="version", version=f"isagen {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    init = commands.add_parser("init", help="set a project up, or update what isagen wrote into it")
    init.add_argument("folder", type=Path, nargs="?", default=Path(), help="the project (default: this folder)")
    init.add_argument("--name", help="name of the Python package, in a folder without a project")
    init.add_argument("--fragment", default="isagen", help="folder for isagen's files in the project (default: isagen)")
    init.add_argument(
        "--force", action="store_true", help="replace a changed fragment too; the old one is kept as .orig"
    )
    init.set_defaults(run=_init)

    matrix = commands.add_parser("matrix", help="show what a build folder builds, and why not the rest")
    matrix.add_argument("build_dir", type=Path, metavar="BUILD_DIR")
    matrix.add_argument("--format", choices=("table", "json"), default="table")
    matrix.set_defaults(run=_matrix)

    probe = commands.add_parser("probe", help="show which levels a compiler can build")
    probe.add_argument("--compiler", default="c++", help="the compiler to ask (default: c++)")
    probe.add_argument("--language", choices=("c", "cpp"), default="cpp")
    probe.add_argument("--table", default="default", help="a table's name, or a path that ends in .toml")
    probe.add_argument("--format", choices=("table", "json"), default="table")
    probe.add_argument("args", nargs="*", metavar="-- ARGUMENT", help="arguments of the project, such as -m32")
    probe.set_defaults(run=_probe)

    cpu = commands.add_parser("cpu", help="show what this CPU and OS have, or which levels they support")
    cpu.add_argument("--levels", action="store_true", help="show for every level what is missing, if anything")
    cpu.add_argument("--table", default="default", help="a table's name, or a path that ends in .toml")
    cpu.add_argument("--format", choices=("table", "json"), default="table")
    cpu.set_defaults(run=_cpu)

    audit = commands.add_parser("audit", help="prove that no CPU meets an instruction that it was not asked about")
    audit.add_argument(
        "targets",
        type=Path,
        nargs="+",
        metavar="TARGET",
        help="a build folder, an object, a library, a program, a wheel, or a folder of them",
    )
    audit.add_argument(
        "--baseline",
        metavar="LEVEL",
        help="what a file must run on, outside its levels: X86_64_V2, ...; default: what its build says, or X86_64",
    )
    audit.add_argument("--all", action="store_true", help="show every finding, not the first few of each kind")
    audit.add_argument("--format", choices=("text", "json"), default="text")
    audit.set_defaults(run=_audit)

    demo = commands.add_parser("demo", help="build a small project, run every level that this CPU has, and compare")
    demo.add_argument("--keep", type=Path, metavar="FOLDER", help="make the project in FOLDER, and leave it there")
    demo.set_defaults(run=_demo)

    # Called by the Meson fragment, not by people.
    configure = commands.add_parser("configure")
    add_arguments(configure)
    configure.set_defaults(run=_configure)
    return parser


def _init(options: argparse.Namespace) -> int:
    from .project.init import init_project

    for line in init_project(options.folder, name=options.name, fragment=options.fragment, force=options.force):
        print(line)
    return 0


def _matrix(options: argparse.Namespace) -> int:
    from .matrix import load_matrix, print_matrix
    from .model.plan_file import find_plans

    matrices = [load_matrix(plan) for plan in find_plans(options.build_dir)]
    if options.format == "json":
        print(json.dumps(matrices[0] if len(matrices) == 1 else matrices, indent=2))
    else:
        for matrix in matrices:
            print_matrix(matrix)
    return 0


def _probe(options: argparse.Namespace) -> int:
    from .probe.cache import NO_CACHE
    from .probe.compiler import find_compiler
    from .probe.probe import probe_all

    table = _table(options.table)
    compiler = replace(find_compiler(options.language, options.compiler.split()), args=tuple(options.args))
    verdicts = probe_all(table, [compiler], NO_CACHE)
    if options.format == "json":
        from dataclasses import asdict

        print(json.dumps({level: asdict(verdict) for (level, _), verdict in verdicts.items()}, indent=2))
        return 0
    for (level, _), verdict in verdicts.items():
        print(
            f"{level:<14} {'available' if verdict.available else 'unavailable'}: "
            f"{' '.join(verdict.flags) or 'no flags' if verdict.available else verdict.reason}"
        )
        for flag, reason in verdict.dropped:
            print(f"{'':<14} without {flag}: {reason}")
    return 0


def _cpu(options: argparse.Namespace) -> int:
    from .processors.detection import ask_permissions, detect, missing_by_level
    from .processors.registry import this_machine
    from .processors.report import levels_json, levels_text, report, report_text

    table = _table(options.table)
    machine = this_machine(table.features.name)
    cpu = detect(table.features, machine)
    if options.levels:
        missing = missing_by_level(table, ask_permissions(cpu, machine))
        text = levels_text(missing)
        data = levels_json(table, missing)
    else:
        text = report_text(cpu)
        data = report(cpu)
    sys.stdout.write(json.dumps(data, indent=2) + "\n" if options.format == "json" else text)
    return 0


def _table(name: str) -> Table:
    """Return the table that --table names; the default one is this machine's."""
    from .planning.config import DEFAULT_TABLE
    from .processors.registry import default_table, this_cpu_family
    from .processors.table import load_table

    return load_table(default_table(this_cpu_family()) if name == DEFAULT_TABLE else name, Path.cwd(), "--table")


def _audit(options: argparse.Namespace) -> int:
    from .audit.report import as_data, as_text, found_any
    from .audit.targets import Baseline, audit_targets
    from .processors.registry import audited_processor
    from .processors.table import load_table

    table = load_table(audited_processor().baseline_table, Path.cwd(), "--baseline")
    name = (options.baseline or table.base.name).upper().replace("-", "_")
    if name not in table.names():
        raise AuditError(
            f"there is no level {options.baseline!r}",
            where="--baseline",
            remedy=did_you_mean(options.baseline, table.names()),
        )
    baseline = Baseline(name, table.required_features(name), everywhere=options.baseline is not None)
    results = audit_targets(options.targets, baseline)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # symbols may be of any letters
    if options.format == "json":
        print(json.dumps(as_data(results), indent=2))
    else:
        sys.stdout.write(as_text(results, every=options.all))
    problems = [result.problem for result in results if result.problem]
    for problem in problems:
        print(f"isagen: error: {problem}", file=sys.stderr)
    return AuditError.exit_code if problems else int(found_any(results))


def _demo(options: argparse.Namespace) -> int:
    from .project.demo import run_demo

    return run_demo(options.keep)


def _configure(options: argparse.Namespace) -> int:
    from .configure.command import answer_fragment

    return answer_fragment(options, options.unknown)
