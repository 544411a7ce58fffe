"""Makes the text for a bug report on a build, binary or installed module: matrix, machine, and selected level."""

from __future__ import annotations

import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from ..model.errors import IsagenError
from ..model.matrix import LevelRow, Matrix
from ..processors.detection import ask_permissions, detect
from ..processors.features import read_features
from ..processors.registry import this_machine
from .paths import without_paths
from .planned import public
from .selection import Selection, selection_here
from .where import Found
from .words import bugs_text, facts, state_text

LONGEST = 120  # seconds that an import may take
SCRIPT = "import importlib, sys; print(importlib.import_module(sys.argv[1]).isa.report())"


def report_text(found: Found) -> str:
    """Return the report on one matrix, as Markdown; for a module's matrix, with what the loaded module reports."""
    matrix: Matrix = public(found.matrix)
    here = selection_here(matrix)
    title = found.module or (matrix.project if found.plan else Path(found.label).name)
    lines = [f"### isagen report: {escaped(title)}", ""]
    if package := _package(found.module):
        lines.append(f"- package: {escaped(package)}")
    build = {"project": f"{matrix.project}, table {matrix.table}", **dict(facts(matrix))}
    build |= {"known bugs": bugs_text(matrix), "override at run time": ""}
    for name, text in (*build.items(), *_here(matrix, here), *_machine(matrix)):
        lines += [f"- {name}: {escaped(without_paths(text))}"] if text else []
    lines += ["", "| level | build | CPU and OS |", "|---|---|---|"]
    lines += [f"| {' | '.join(map(escaped, _level(here, level)))} |" for level in matrix.levels]
    return "\n".join([*lines, "", *([without_paths(loaded(found.module))] if found.module else [])])


def _level(here: Selection, level: LevelRow) -> tuple[str, str, str]:
    missing = here.missing.get(level.name, ())
    state = "unknown" if here.problem else "supported"
    return level.name, state_text(level), f"lack {' '.join(missing)}" if missing else state


def _here(matrix: Matrix, here: Selection) -> Iterator[tuple[str, str]]:
    if here.problem:  # then no variable was read, so no override is shown
        yield "selected", f"unknown: {here.problem}"
        return
    variables = " or ".join(alias.variable for alias in matrix.variables)
    if here.override:
        named = "" if here.asked or here.excluded else ", which is no level of this build"
        yield "override", f"{here.variable}={here.override}{named}"
    else:
        yield "override", f"no value in {variables}" if variables else "there is none"
    yield "selected", f"{here.selected or 'none'}, as isagen computes it"


def _package(module: str) -> str:
    distributions: Mapping[str, list[str]] = metadata.packages_distributions() if module else {}
    names = distributions.get(module.partition(".")[0], [])
    return ", ".join(f"{name} {metadata.version(name)}" for name in names)


def _machine(matrix: Matrix) -> Iterator[tuple[str, str]]:
    cpu_name, features, states = platform.processor(), "unknown", ""
    with suppress(IsagenError):
        machine = this_machine(matrix.features)
        cpu = ask_permissions(detect(read_features(matrix.features), machine), machine)
        cpu_name = machine.cpu_name() or cpu_name
        features = " ".join(name for name in cpu.features.features if name in cpu.present)
        states = " ".join(sorted(cpu.saved - cpu.refused))
    yield "CPU", cpu_name or "unknown"
    yield "CPU features", features
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    yield "OS", f"{system}; saves {states or 'no vector state that is known'}"
    yield "Python", f"{platform.python_implementation()} {platform.python_version()} ({sys.platform})"


def loaded(module: str) -> str:
    """Import a module in a separate process, and return the text of its isa.report(), or why this failed."""
    # With -c, Python searches the current folder first, where a folder may have the name of the installed module. -P
    # prevents this search. -P is left out if this process, which found the module, searches the current folder too.
    safe = [] if {"", str(Path.cwd())} & {*sys.path} else ["-P"]
    command = [sys.executable, *safe, "-W", "ignore", "-c", SCRIPT, module]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return f"importing it took more than {LONGEST} seconds\n"
    if done.returncode == 0:
        return done.stdout.decode(errors="replace")
    last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    return f"importing it failed: {''.join(last) or f'the process ended with status {done.returncode}'}\n"


def escaped(text: str) -> str:
    """Return a text as one line, with a backslash before Markdown's marks of code, emphasis, links, HTML and tables."""
    # Within a word, _ is no markup, and stays as it is.
    return re.sub(r"([\\`*\[\]<>|]|(?<![^\W_])_|_(?![^\W_]))", r"\\\1", " ".join(text.splitlines()))
