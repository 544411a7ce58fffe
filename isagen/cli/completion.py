"""`isagen completion`: writes the script by which a shell completes isagen's commands, options and values.

The script calls `isagen completion words` for the words that may stand at the cursor. If there are none, the shell
offers files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

from .parser import Commands, Parser, commands_of

SCRIPTS = {
    "bash": """\
_isagen() {
  mapfile -t COMPREPLY < <(isagen completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" | cut -f 1)
}
complete -o default -F _isagen isagen
""",
    "zsh": """\
#compdef isagen
_isagen() {
  local -a found=(${(f)"$(isagen completion words -- "${(@)words[2,CURRENT]}" | cut -f 1)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _isagen isagen
""",
    "fish": """\
function _isagen
  set -l found (isagen completion words -- (commandline -opc)[2..] (commandline -ct))
  if set -q found[1]
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c isagen -f -a '(_isagen)'
""",
}
WORDS = "words"


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("completion", help="write the script by which a shell completes isagen's arguments")
    parser.add_argument("shell", choices=(*SCRIPTS, WORDS), metavar="SHELL", help=f"the shell: {', '.join(SCRIPTS)}")
    parser.rest = "words"
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.shell == WORDS:
        print("".join(f"{word}\t{meaning}\n" for word, meaning in candidates(options.parser, options.words)), end="")
    else:
        print(SCRIPTS[options.shell], end="")
    return 0


def candidates(parser: Parser, words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (word, meaning) for each word that may replace the last of `words`, the arguments of `isagen`."""
    *before, current = words or [""]
    commands = commands_of(parser)
    command = next((commands[word] for word in before if word in commands), parser)
    for word, meaning in _expected(command, before[-1] if before else "", current):
        if word.startswith(current):
            yield word, meaning


def _expected(parser: Parser, last: str, current: str) -> Iterable[tuple[str, str]]:
    """Return the values of the option `last`; or the options, if `current` starts with a dash; or positional values."""
    options = {name: action for action in parser._actions for name in action.option_strings}
    if last in options and options[last].nargs != 0:
        return ((str(value), "") for value in options[last].choices or ())
    if current.startswith("-"):
        return ((name, action.help or "") for name, action in options.items())
    return (value for action in parser._actions if not action.option_strings for value in _values(action))


def _values(action: argparse.Action) -> Iterator[tuple[str, str]]:
    if isinstance(action, argparse._SubParsersAction):
        yield from ((command.dest, command.help or "") for command in action._get_subactions())
    elif action.choices:
        yield from ((str(value), "") for value in action.choices if value != WORDS)
