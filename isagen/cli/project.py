"""`isagen init`, `isagen doctor` and `isagen demo`: set a project up, check one, and build one to try."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..project.demo import run_demo
from ..project.doctor import examine
from ..project.init import init_project
from .output import wrapped
from .parser import Commands


def add_init(commands: Commands) -> None:
    """Add the parser of `isagen init`."""
    parser = commands.add_parser(
        "init",
        help="set a project up, or update what isagen wrote into it",
        epilog="files that are written only if meson.build sets a variable that needs them:\n"
        "  isagen/extras  generated kernels, precompiled headers, whole modules\n"
        "  isagen/module  whole modules: isa_module\n"
        "  isagen/audit   targets that ninja audits where no script takes the linker's place: isa_links",
    )
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path(),
        help="the project, or a folder to make for one (default: this folder)",
    )
    parser.add_argument("--name", help="name of a new project's package, and of a new isa.toml's override")
    parser.add_argument(
        "--fragment", default="isagen", help="folder for isagen's files in the project (default: isagen)"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a changed fragment too; the old one is kept as .orig"
    )
    parser.set_defaults(run=run_init)


def run_init(options: argparse.Namespace) -> int:
    """Run `isagen init`."""
    done = init_project(options.folder, name=options.name, fragment=options.fragment, force=options.force)
    for line in list(done):  # a list, because printing may fail, and must not stop the writing of files
        print(wrapped(line.split("\n"), code=" "), end="")
    return 0


def add_doctor(commands: Commands) -> None:
    """Add the parser of `isagen doctor`."""
    parser = commands.add_parser("doctor", help="check a project and the tools that build it")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), help="the project (default: this folder)")
    parser.set_defaults(run=run_doctor)


def run_doctor(options: argparse.Namespace) -> int:
    """Run `isagen doctor`."""
    problems = 0
    for check in examine(options.folder):
        problems += not check.ok
        lines = [f"{'ok' if check.ok else 'problem':<8} {check.message}"]
        lines += [f"{'':<8}   {check.remedy}"] if check.remedy and not check.ok else []
        print(wrapped(lines, indent=" " * 13), end="", flush=True)
    return int(problems > 0)


def add_demo(commands: Commands) -> None:
    """Add the parser of `isagen demo`."""
    parser = commands.add_parser("demo", help="build a small project, run every level that this CPU has, and compare")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the project in FOLDER, and leave it there")
    parser.set_defaults(run=lambda options: run_demo(options.keep))
