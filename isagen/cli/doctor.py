"""`isagen doctor`: checks what must be right before Meson calls isagen."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..project.doctor import examine
from .parser import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("doctor", help="check a project and the tools that build it")
    parser.add_argument("folder", type=Path, nargs="?", default=Path(), help="the project (default: this folder)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    problems = 0
    for check in examine(options.folder):
        problems += not check.ok
        print(f"{'ok' if check.ok else 'problem':<8} {check.message}", flush=True)
        if check.remedy:
            print(f"{'':<8}   {check.remedy}")
    return int(problems > 0)
