"""`isagen configure`: for the Meson fragment, not for people."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..configure.request import add_arguments

if TYPE_CHECKING:
    from .common import Commands


def add(commands: Commands) -> None:
    """Add the command's parser, which has no help text, so that the list of commands leaves it out."""
    parser = commands.add_parser("configure")
    add_arguments(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..configure.command import answer_fragment

    return answer_fragment(options, options.unknown)
