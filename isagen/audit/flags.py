"""Whether the features that sources were compiled with are checked at run time, by the build's compile commands."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ..model.command_words import split_words
from ..model.errors import AuditError
from ..model.languages import LANGUAGE_OF_SUFFIX
from ..model.record import Record
from ..processors.features import features_of
from .build_objects import BuildObjects, placed
from .findings import Finding
from .subject import Subject

COMMANDS = "compile_commands.json"
# Options of a compile command that say what is read and written, with and without a value of their own.
WITH_VALUE, ALONE = {"-o", "-MF", "-MQ", "-MT"}, {"-c", "-MD", "-MMD", "-MP", "-E", "-S"}

# A folder, and the words of a command that is called there.
Command = tuple[Path, tuple[str, ...]]


def _commands(root: Path) -> Mapping[Path, Command]:
    """Return the compile commands in a build folder, without what names files, by the objects that they make.

    There are none where Meson does not write them. Entries for editors have no output: they make nothing.
    """
    path = root / COMMANDS
    if not path.is_file():
        return {}
    try:
        entries = [one for one in json.loads(path.read_text(encoding="utf-8")) if "output" in one]
        return {
            placed(Path(one["directory"], one["output"])): (
                Path(one["directory"]),
                tuple(_without_files(split_words(one["command"]))),
            )
            for one in entries
        }
    except (ValueError, KeyError, TypeError, OSError) as problem:
        remedy = "configure the build again"
        raise AuditError(f"cannot be read: {problem}", where=str(path), remedy=remedy) from None


def _macros_of(commands: Mapping[Path, Command], objects: Iterable[Path]) -> Mapping[Path, Mapping[str, str]]:
    """Return the macros that are predefined where objects are compiled, as far as their commands are known."""
    known = {path: commands[at] for path in objects if (at := placed(path)) in commands}
    macros = {command: _macros(command) for command in set(known.values())}
    return {path: macros[command] for path, command in known.items()}


def audit_flags(record: Record, objects: BuildObjects, root: Path) -> list[Finding]:
    """Return the features that a kernel's compile command turns on, but that its level does not check."""
    commands, features = _commands(root), features_of(record.features)
    levels = {path: level for path in commands if (level := objects.level(path)) in record.levels}
    found = []
    for path, macros in _macros_of(commands, levels).items():
        level = levels[path]
        on = [name for name in features.turned_on(macros) if name not in record.levels[level]]
        if on:
            said = " ".join(m for m in sorted(macros) if (f := features.of_macro(m)) and f.name in on)
            place = (objects.shown(path), objects.kernel(path))
            found.append(Finding("flags", "", f"compiled with {said}", level, *place, features=tuple(on)))
    return found


def meant(subject: Subject, objects: BuildObjects) -> list[Finding]:
    """Return functions of no level with instructions that older CPUs run as others, if their compile command turns
    these on.
    """
    alike, beyond = subject.sets.alike, subject.sets.beyond(subject.baseline)
    found: dict[int, Path] = {}
    for number in range(len(subject.code)) if not beyond.isdisjoint(alike) else ():
        if not subject.level_of(number) and not beyond.isdisjoint(subject.code.codes(number).intersection(alike)):
            path = objects.place(subject.code.name(number), "")
            if path is not None:
                found[number] = path
    macros = _macros_of(_commands(objects.root), set(found.values())) if found else {}
    findings = []
    for number, path in found.items():
        wanted = (code for code in subject.code.codes(number) & beyond if code in alike)
        codes = frozenset(code for code in wanted if any(macro in macros.get(path, {}) for macro in alike[code]))
        if codes and not subject.allowances.cover(subject.code.name(number)):
            findings.append(subject.finding("baseline", number, codes, subject.baseline, ""))
    return findings


def _without_files(words: Sequence[str]) -> Iterator[str]:
    """Yield a compile command without what names files, and its language: its source is the last word.

    Compilers may have any name (`python -m ziglang c++`), but suffixes of sources are known. gfortran answers in C, the
    only way to ask it, and warns of options that are not of C.
    """
    waiting = False
    for word in words[:-1]:
        if waiting:
            waiting = False
        elif word in WITH_VALUE:
            waiting = True
        elif word not in ALONE:
            yield word
    language = LANGUAGE_OF_SUFFIX.get(Path(words[-1]).suffix, "cpp")
    yield from ("-x", "c++" if language == "cpp" else "c", *(["-Wno-error"] if language == "fortran" else []))


def _macros(command: Command) -> Mapping[str, str]:
    """Return the macros that are predefined under a compile command."""
    folder, words = command
    try:
        asked = [*words, "-dM", "-E", "/dev/null"]
        done = subprocess.run(asked, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    except OSError as problem:
        raise AuditError(f"cannot be run: {problem.strerror}", where=words[0]) from None
    if done.returncode != 0:
        raise AuditError(f"does not answer: {done.stderr.strip()[:500]}", where=words[0])
    return dict(re.findall(r"^#define (\S+?)(?:\([^)]*\))?(?: (.*))?$", done.stdout, re.MULTILINE))
