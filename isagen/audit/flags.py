"""The rule for instructions that older CPUs run as others: what a compile command turns on must be in the baseline."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..model.command_words import split_words
from ..model.errors import AuditError
from ..model.languages import LANGUAGE_OF_SUFFIX
from .build_objects import BuildObjects
from .findings import Finding
from .subject import Subject

COMMANDS = "compile_commands.json"
# Options for inputs and outputs: with their value in the next word, and without a value.
WITH_VALUE, ALONE = {"-o", "-MF", "-MQ", "-MT"}, {"-c", "-MD", "-MMD", "-MP", "-E", "-S", "/c", "--"}
CLANG_CL = "clang-cl"
OUTPUTS = ("/Fo", "/Fd", "/showIncludes")  # how clang-cl's own options for outputs start

# A folder, and the words of a command that runs there.
Command = tuple[Path, tuple[str, ...]]


def _macros_of(root: Path, objects: Iterable[Path]) -> Mapping[Path, Mapping[str, str]]:
    """Return the macros that are predefined when each object is compiled, by the commands of the build folder `root`.

    Objects without a command have none. Entries without an output are for editors alone.
    """
    path = root / COMMANDS
    commands: dict[Path, Command] = {}
    try:
        for entry in json.loads(path.read_text(encoding="utf-8")) if path.is_file() else ():
            if "output" in entry:
                folder = Path(entry["directory"])
                words = tuple(_without_files(split_words(entry["command"])))
                commands[(folder / entry["output"]).resolve()] = (folder, words)
    except (ValueError, KeyError, TypeError, OSError) as problem:
        remedy = "configure the build again"
        raise AuditError(f"cannot be read: {problem}", where=str(path), remedy=remedy) from None
    known = {path: commands[at] for path in objects if (at := path.resolve()) in commands}
    macros = {command: _macros(command) for command in set(known.values())}
    return {path: macros[command] for path, command in known.items()}


def alike_instructions(subject: Subject, objects: BuildObjects) -> list[Finding]:
    """Return the findings of ordinary functions with instructions that older CPUs run as others (TZCNT as BSF).

    These are findings only if the function's compile command turns the newer instructions on.
    """
    alike = subject.sets.alike
    wanted = subject.sets.beyond(subject.baseline).intersection(alike)
    if not wanted:
        return []
    paths: dict[int, Path] = {}
    for number in range(len(subject.code)):
        if not subject.level_of(number) and not wanted.isdisjoint(subject.code.codes(number)):
            path = objects.definition(subject.code.name(number), "")
            if path is not None:
                paths[number] = path
    macros = _macros_of(objects.root, set(paths.values())) if paths else {}
    findings = []
    for number, path in paths.items():
        codes = subject.code.codes(number) & wanted
        codes = frozenset(code for code in codes if not macros.get(path, {}).keys().isdisjoint(alike[code]))
        if codes and not subject.allowances.cover(subject.code.name(number)):
            findings.append(subject.finding("baseline", number, codes, subject.baseline, ""))
    return findings


def _without_files(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a compile command without the names of files, and then options that list macros.

    The source's suffix, in the last word, shows the language; the compiler's name may not (`python -m ziglang c++`).
    gfortran lists macros only as a C compiler, which warns of options for Fortran.
    """
    is_value, is_clang_cl = False, any(Path(word).name.startswith(CLANG_CL) for word in words[:2])
    outputs = OUTPUTS if is_clang_cl else ()
    for word in words[:-1]:
        if not is_value and word not in WITH_VALUE and word not in ALONE and not word.startswith(outputs):
            yield word
        is_value = not is_value and word in WITH_VALUE
    language = LANGUAGE_OF_SUFFIX.get(Path(words[-1]).suffix, "cpp")
    if is_clang_cl:
        yield from ("/TP" if language == "cpp" else "/TC", "/clang:-dM", "/clang:-E", "--")
        return
    yield from ("-x", "c++" if language == "cpp" else "c", *(["-Wno-error"] if language == "fortran" else []))
    yield from ("-dM", "-E")


def _macros(command: Command) -> Mapping[str, str]:
    """Return the macros that are predefined under a compile command."""
    folder, words = command
    try:
        asked = [*words, os.devnull]
        done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    except OSError as problem:
        raise AuditError(f"cannot be run: {problem.strerror}", where=words[0]) from None
    if done.returncode != 0:
        raise AuditError(f"does not print its macros: {done.stderr.strip()[:500]}", where=words[0])
    return dict(re.findall(r"^#define (\S+?)(?:\([^)]*\))?(?: (.*))?$", done.stdout, re.MULTILINE))
