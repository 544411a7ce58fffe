"""`isagen init`: sets a project up, or updates it."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..project.init import init_project
from .parser import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("init", help="set a project up, or update what isagen wrote into it")
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=Path(),
        help="the project, or a folder to make for one (default: this folder)",
    )
    parser.add_argument("--name", help="name of the Python package, in a folder without a project")
    parser.add_argument(
        "--fragment", default="isagen", help="folder for isagen's files in the project (default: isagen)"
    )
    parser.add_argument(
        "--force", action="store_true", help="replace a changed fragment too; the old one is kept as .orig"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    done = init_project(options.folder, name=options.name, fragment=options.fragment, force=options.force)
    for line in list(done):  # complete before the first line is printed, which may fail
        print(line)
    return 0
