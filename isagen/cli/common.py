"""Code that several commands share: their parsers' type, and the option --table."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from ..processors.table import Table
from .parser import Parser

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # generic for type checkers alone


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the option --table."""
    parser.add_argument("--table", default="default", help="a table's name, or a path that ends in .toml")


def table_of(options: argparse.Namespace) -> Table:
    """Return the table that --table names; the default one is this machine's."""
    from ..planning.config import DEFAULT_TABLE
    from ..processors.registry import default_table, this_cpu_family
    from ..processors.table import load_table

    name = default_table(this_cpu_family()) if options.table == DEFAULT_TABLE else options.table
    return load_table(name, Path.cwd(), "--table")
