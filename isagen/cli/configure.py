"""`isagen configure`: for the Meson fragment, not for people."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

from ..configure.request import add_arguments
from .parser import HIDDEN

if TYPE_CHECKING:
    from .common import Commands


def add(commands: Commands) -> None:
    """Add the command's parser, which has no help text, so that the list of commands leaves it out."""
    parser = commands.add_parser(HIDDEN)
    add_arguments(parser)
    parser.set_defaults(run=run)
    parser.report = _refuse


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from ..configure.command import answer_fragment

    return answer_fragment(options, options.unknown)


def _refuse(message: str) -> NoReturn:
    """Answer a fragment whose arguments are those of another version."""
    from ..configure.command import refuse_arguments

    refuse_arguments(sys.argv)
    sys.exit(0)
