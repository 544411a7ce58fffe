"""Whether what kernels were compiled with is checked at run time: asks the compiler, by the build's own commands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..model.command_words import split_words
from ..model.errors import AuditError
from ..model.languages import LANGUAGE_OF_SUFFIX
from ..model.record import Record
from ..processors.features import Features, features_of
from .build_objects import BuildObjects
from .findings import Finding

COMMANDS = "compile_commands.json"
# Options of a compile command that say what is read and written, with and without a value of their own.
WITH_VALUE, ALONE = {"-o", "-MF", "-MQ", "-MT"}, {"-c", "-MD", "-MMD", "-MP", "-E", "-S"}


def audit_flags(record: Record, objects: BuildObjects, root: Path) -> list[Finding]:
    """Return the features that a kernel's compile command turns on, but that its level does not check.

    Meson leaves the commands of a build folder in compile_commands.json; without it there is nothing to find. Entries
    that isagen added for editors make nothing: they have no output.
    """
    path = root / COMMANDS
    if not path.is_file():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        commands = [
            (Path(e["directory"]), Path(e["directory"], e["output"]), split_words(e["command"]))
            for e in entries
            if "output" in e
        ]
    except (ValueError, KeyError, TypeError, OSError) as problem:
        raise AuditError(f"cannot be read: {problem}", where=str(path), remedy="configure the build again") from None
    features = features_of(record)
    questions: dict[tuple[str, Path, tuple[str, ...]], Path] = {}
    for folder, output, words in commands:
        level = objects.level(output)
        if level in record.levels:
            questions.setdefault((level, folder, tuple(_without_files(words))), output)
    with ThreadPoolExecutor() as pool:
        answers = pool.map(lambda question: _macros(question[1], question[2]), questions)
        return [
            finding
            for (level, _, _), output, macros in zip(questions, questions.values(), answers, strict=True)
            for finding in _judge(record, features, level, macros, objects, output)
        ]


def _judge(
    record: Record, features: Features, level: str, macros: frozenset[str], objects: BuildObjects, output: Path
) -> Iterator[Finding]:
    checked = set(record.levels[level])
    on = [name for name in features.turned_on(macros) if name not in checked]
    if on:
        yield Finding(
            kind="flags",
            symbol="",
            detail="compiled with "
            + " ".join(m for m in sorted(macros) if (f := features.of_macro(m)) and f.name in on),
            level=level,
            object=objects.shown(output),
            kernel=objects.kernel(output),
            features=tuple(on),
        )


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


def _macros(folder: Path, words: Sequence[str]) -> frozenset[str]:
    """Return the macros that are predefined under a compile command."""
    command = [*words, "-dM", "-E", "/dev/null"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    except OSError as problem:
        raise AuditError(f"cannot be run: {problem.strerror}", where=words[0]) from None
    if done.returncode != 0:
        raise AuditError(f"does not answer: {done.stderr.strip()[:500]}", where=words[0])
    return frozenset(line.split(None, 2)[1].split("(")[0] for line in done.stdout.splitlines() if line.count(" "))
