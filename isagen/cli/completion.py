"""`isagen completion`: writes the script by which a shell completes isagen's commands, options and values."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .common import Commands
from .parser import Parser, commands_of, options_of


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser("completion", help="write the script by which a shell completes isagen's arguments")
    parser.add_argument("shell", choices=tuple(SHELLS), metavar="SHELL", help=f"the shell: {', '.join(SHELLS)}")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    print("\n".join(SHELLS[options.shell](options.parser)))
    return 0


@dataclass(frozen=True)
class _Argument:
    """An option (or a position, without names) of a command: what follows it, or None where nothing does."""

    names: tuple[str, ...]
    values: tuple[str, ...] | None
    help: str


def _arguments(parser: argparse.ArgumentParser) -> list[_Argument]:
    return [
        _Argument(
            tuple(action.option_strings),
            None if action.nargs == 0 else tuple(map(str, action.choices or ())),
            "" if action.help == argparse.SUPPRESS else action.help or "",
        )
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction)
    ]


@dataclass(frozen=True)
class _Words:
    """What may stand where: `options` and other words after each command ("": before any), and each option's values.

    Where there are no words, files may stand.
    """

    options: Mapping[str, str]
    words: Mapping[str, str]
    values: Mapping[str, str]


def _words(parser: Parser) -> _Words:
    commands = commands_of(parser)
    options, words = {"": " ".join(options_of(parser))}, {"": " ".join(commands)}
    values: dict[str, str] = {}
    for name, command in commands.items():
        arguments = _arguments(command)
        options[name] = " ".join(options_of(command))
        words[name] = " ".join(value for a in arguments if not a.names for value in a.values or ())
        for argument in arguments:
            if argument.values is not None:
                values |= {f"{name}:{option}": " ".join(argument.values) for option in argument.names}
    return _Words(options, words, values)


def _bash(parser: Parser) -> Iterator[str]:
    found = _words(parser)
    yield "_isagen() {"
    yield "  local word command= words= options= current=${COMP_WORDS[COMP_CWORD]}"
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f"    case $word in {'|'.join(filter(None, found.words))}) command=$word; break ;; esac"
    yield "  done"
    yield '  case "$command:${COMP_WORDS[COMP_CWORD-1]}" in'
    for key, words in found.values.items():
        yield f"    {key}) words={shlex.quote(words)} ;;"
    yield '    *) case "$command" in'
    for key, words in found.words.items():
        yield f"      {shlex.quote(key)}) words={shlex.quote(words)} options={shlex.quote(found.options[key])} ;;"
    yield "    esac ;;\n  esac"
    yield "  if [[ $current == -* && $options ]]; then words=$options; fi"
    yield '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")\n}'
    yield "complete -o default -F _isagen isagen  # without a word that fits: files"


def _zsh(parser: Parser) -> Iterator[str]:
    found = _words(parser)
    yield "#compdef isagen\n_isagen() {\n  local word command="
    yield '  for word in "${(@)words[2,CURRENT-1]}"; do'
    yield f"    case $word in ({'|'.join(filter(None, found.words))}) command=$word; break ;; esac"
    yield "  done"
    yield '  case "$command:${words[CURRENT-1]}" in'
    for key, words in found.values.items():
        yield f"    ({key}) {f'compadd -- {words}' if words else '_files'}; return ;;"
    yield '  esac\n  case "$command:$PREFIX" in'
    for key, words in found.words.items():
        yield f"    ({key}:-*) compadd -- {found.options[key]} ;;"
        yield f"    ({key}:*) {f'compadd -- {words}' if words else '_files'} ;;"
    yield "  esac\n}\ncompdef _isagen isagen"


def _fish(parser: Parser) -> Iterator[str]:
    listed = {choice.dest: choice.help or "" for choice in _listed(parser)}
    for name, command in commands_of(parser).items():
        yield f"complete -c isagen -n __fish_use_subcommand -f -a {name} -d {shlex.quote(listed.get(name, ''))}"
        for argument in _arguments(command):
            line = f"complete -c isagen -n '__fish_seen_subcommand_from {name}'"
            for option in argument.names:
                line += f" -l {option[2:]}" if option.startswith("--") else f" -s {option[1:]}"
            if argument.values:
                line += f" -x -a {shlex.quote(' '.join(argument.values))}"
            elif argument.names and argument.values is not None:
                line += " -r"
            if argument.names or argument.values:
                yield f"{line} -d {shlex.quote(argument.help)}"


def _listed(parser: Parser) -> list[argparse.Action]:
    found = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return list(found._get_subactions())


SHELLS: Mapping[str, Callable[[Parser], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
