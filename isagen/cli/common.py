"""What several commands share: their parsers' type, and the option --table."""

from __future__ import annotations

import argparse
import platform
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..processors.table import Table

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the option --table."""
    parser.add_argument("--table", default="default", help="a table's name, or a path that ends in .toml")


def table_of(options: argparse.Namespace) -> Table:
    """Return the table that --table names; the default one is this machine's."""
    from ..planning.config import DEFAULT_TABLE
    from ..processors.table import default_table, load_table

    family = {"AMD64": "x86_64", "amd64": "x86_64"}.get(platform.machine(), platform.machine())
    name = default_table(family) if options.table == DEFAULT_TABLE else options.table
    return load_table(name, Path.cwd(), "--table")
