"""`isagen demo`: builds a small project, runs every level, and compares them."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..project.demo import run_demo
from .parser import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("demo", help="build a small project, run every level that this CPU has, and compare")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make the project in FOLDER, and leave it there")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    return run_demo(options.keep)
