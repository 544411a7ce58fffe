"""`isagen demo`: makes a small project, builds it, shows its matrix, and runs every level that this CPU supports."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from shutil import get_terminal_size
from tempfile import TemporaryDirectory
from textwrap import TextWrapper

from ..matrix.built import built_matrix
from ..matrix.selection import selection_here
from ..matrix.terminal import NARROWEST, print_matrix
from ..matrix.words import count_text
from ..model.errors import ProjectError
from ..model.plan_file import find_plans
from .init import init_project

PACKAGE = "isagen_demo"
CXX_COMPILERS = ["c++", "g++", "clang++"]
# The script of the process that runs one level: it prints the level, the result, and the seconds of the fastest call.
MEASURE = """
import json, time
import isagen_demo as demo
a = bytes((i * 7 + i // 251) % 256 for i in range(1 << 16))
b = bytes((i * 13 + i // 241) % 256 for i in range(1 << 16))
best, end = 1e9, time.perf_counter() + 0.3
while time.perf_counter() < end:
    start = time.perf_counter()
    result = demo.dot(a, b)
    best = min(best, time.perf_counter() - start)
print(json.dumps([demo.current_level(), result, best]))
"""


def run_demo(keep: Path | None = None) -> int:
    """Run the demo in a temporary folder, or in the new or empty folder `keep`; return the exit status."""
    _check_tools()
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise ProjectError("is not empty", where=str(keep), remedy="give a folder that does not exist yet")
    # ninja may be beside this Python, in an environment that is not active.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}
    with TemporaryDirectory(prefix="isagen-demo-") if keep is None else nullcontext(keep) as place:
        folder = Path(place).resolve()
        print(f"1. A project by `isagen init`: {folder}")
        for line in init_project(folder, name=PACKAGE):
            if not line.startswith("\n"):
                print(f"   {line}")
        print("\n2. Built with stock Meson")
        build = folder / "build"
        for words in (
            ("setup", str(build)),
            ("compile", "-C", str(build)),
            ("install", "-C", str(build), "--destdir", str(folder / "site")),
        ):
            _run([sys.executable, "-m", "mesonbuild.mesonmain", *words], folder, environment)
        print("\n3. What was built: `isagen matrix build`\n")
        matrix = built_matrix(find_plans(build)[0])
        print_matrix(matrix, here=selection_here(matrix))
        print("\n4. Each level that this CPU supports, in its own process\n")
        return _compare(folder, matrix.override)


def _check_tools() -> None:
    """Raise `ProjectError` if Meson is missing, or if there is no C++ compiler."""
    if importlib.util.find_spec("mesonbuild") is None:
        raise ProjectError(f"{sys.executable} has no Meson", where="demo", remedy="pip install meson ninja")
    names = os.environ.get("CXX", "").split()[:1] or CXX_COMPILERS
    if not any(map(shutil.which, names)):
        raise ProjectError(
            f"no C++ compiler is installed: {', '.join(names)}",
            where="demo",
            remedy="install one, such as g++ on Debian and Ubuntu, or name its command in CXX",
        )


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    """Return the output of a command. Raises `ProjectError` with the output if it fails."""
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ProjectError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}", where="demo")
    return done.stdout


def _compare(folder: Path, variable: str) -> int:
    """Run and print each supported level; return the exit status. Raises `ProjectError` if a process fails."""
    package = next((folder / "site").rglob(f"{PACKAGE}/__init__.py"))
    environment = {**os.environ, "PYTHONPATH": str(package.parent.parent)}
    code = f"import json, {PACKAGE} as demo; print(json.dumps(demo.isa.levels))"
    levels = json.loads(_run([sys.executable, "-c", code], folder / "site", environment))
    rows = []
    for level, (built, supported, _) in levels.items():
        if built and supported:
            output = _run([sys.executable, "-c", MEASURE], folder / "site", {**environment, variable: level})
            rows.append((level, *json.loads(output)))
    lowest, others = rows[0], {level: seen for level, seen in levels.items() if not (seen[0] and seen[1])}
    print(_compared(rows, others, max(NARROWEST, get_terminal_size().columns)))
    wrong = [level for level, ran, result, _ in rows if ran != level or result != lowest[2]]
    if wrong:
        print(f"\nFAILED: {', '.join(wrong)} did not run, or gave another result than {lowest[0]}")
        return 1
    print(f"\nSUCCESS: {count_text(len(rows), 'level')} ran, and all agree.")
    print("`isagen init` makes such a project in an empty folder.")
    return 0


def _compared(
    rows: Sequence[tuple[str, str, int, float]], others: Mapping[str, tuple[bool, bool, str]], width: int
) -> str:
    """Return a line for each of `rows` (level, level that ran, result, seconds) and for each level that did not run."""
    names = max(map(len, ("level", *(level for level, *_ in rows), *others))) + 2
    lines = [f"{'level':<{names}}{'ran':<{names}}{'dot(a, b)':>9}{'time':>11}{'speed':>8}"]
    for level, ran, result, seconds in rows:
        speed = rows[0][3] / seconds
        lines.append(f"{level:<{names}}{ran:<{names}}{result:>9}{seconds * 1e6:>8.2f} us{speed:>7.1f}x")
    folded = TextWrapper(width, subsequent_indent=" " * names, break_long_words=False, break_on_hyphens=False)
    for level, (built, _, missing) in others.items():
        lines.append(folded.fill(f"{level:<{names}}{f'missing: {missing}' if built else 'not built'}"))
    return "\n".join(lines)
