"""The parser of isagen's arguments. It wraps help to the terminal's width.

For commands of isagen that run a user's command, it takes the words after `--` as they are.
"""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from difflib import get_close_matches
from typing import Any, NoReturn, TypeAlias

from ..model.errors import did_you_mean
from ..planning.config import DEFAULT_TABLE
from .output import wrapped


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """A formatter that preserves the lines of descriptions and examples, and wraps those wider than the terminal."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(self._fill_line(indent + line, width) for line in text.splitlines())

    def _fill_line(self, line: str, width: int) -> str:
        # If two spaces follow the first word, continuation lines begin below the text after them.
        margin = " " * (len(line) - len(re.sub(r"^ *(\S+  +)?", "", line)))
        return textwrap.fill(line, width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` whose errors refer to the help.

    `rest` is the name of the result's attribute that gets all arguments after `--`: these may start with a dash, and
    argparse would read them as options.
    """

    rest: str = ""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; but if `rest` is set, its attribute gets the arguments after `--`, unparsed."""
        words = list(sys.argv[1:] if args is None else args)
        end = words.index("--") if self.rest and "--" in words else len(words)
        options, unknown = super().parse_known_args(words[:end], namespace)
        if self.rest and end == len(words) and not all(word.startswith("-") for word in unknown):
            self.error("put `--` before the command")
        if self.rest:
            setattr(options, self.rest, words[end + 1 :])
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Print the message, a suggestion for a word that is no choice, and a reference to the help; exit with 2."""
        lines = [f"{self.prog}: error: {message}", f"  see `{self.prog} --help`"]
        if wrong := re.search(r"invalid choice: '(.*?)' \(", message):
            choices = re.findall(r"[\w-]+", message[wrong.end() :])[2:]  # after "choose from"
            if get_close_matches(wrong[1].casefold(), choices, n=1):
                lines.insert(1, f"  {did_you_mean(wrong[1], choices)}")
        print(wrapped(lines, stream=sys.stderr), end="", file=sys.stderr)
        sys.exit(2)


Commands: TypeAlias = "argparse._SubParsersAction[Parser]"  # a string: at run time, the class is not generic


def commands_of(parser: Parser) -> dict[str, Parser]:
    """Return the commands of isagen's parser, in the order of the help text."""
    action = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(action.choices)


def add_table(parser: argparse.ArgumentParser) -> None:
    """Add the option --table."""
    parser.add_argument("--table", default=DEFAULT_TABLE, help="a table's name, or a path that ends in .toml")
