"""`isagen matrix`: shows what a build folder builds, and why not the rest."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .common import Commands


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("matrix", help="show what a build folder builds, and why not the rest")
    parser.add_argument("build_dir", type=Path, metavar="BUILD_DIR")
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..matrix.data import load_matrix
    from ..matrix.terminal import print_matrix
    from ..model.plan_file import find_plans

    matrices = [load_matrix(plan) for plan in find_plans(options.build_dir)]
    if options.format == "json":
        print(json.dumps(matrices[0] if len(matrices) == 1 else matrices, indent=2))
    else:
        for matrix in matrices:
            print_matrix(matrix)
    return 0
