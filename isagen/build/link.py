"""Linking, then auditing what was linked: the step that runs in the linker's place (`configure.linkers`)."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ..audit.build_objects import BuildObjects, expand
from ..audit.built import audit_linked
from ..audit.findings import Result
from ..audit.records import records_of
from ..audit.report import as_text
from ..binary.formats import is_binary, open_binary
from ..model.errors import BuildError, IsagenError, reported
from ..model.names import LINK_PROOF
from ..model.plan import Build, Plan
from ..model.plan_file import read_plan
from .explain import explained
from .recorded import check_unrecorded

# Options with which linkers only answer; with -v and -V they say their version, and link.
ANSWERS = {"--version", "--help"}
# Options that leave out symbols, without which the audit cannot tell one variable from the next.
STRIPS = {"-s", "--strip-all", "-x", "--discard-all"}


def link(plan_path: Path, mode: str, name: str, arguments: Sequence[str]) -> int:
    """Call the linker called `name` with `arguments`, audit its output, and return the exit status.

    In `mode` error, what was found fails the link, and the output is removed; in `mode` warn, it is only reported.
    Asked for a proof that it is called, it links nothing.
    """
    words = list(expanded(arguments))
    if LINK_PROOF in words:
        return 0
    build = read_plan(plan_path)
    linker = build.link_audit.linkers.get(name)
    if linker is None:
        raise BuildError(
            "was not there when the project was configured",
            where=name,
            remedy="configure the build folder again: meson setup --reconfigure BUILD_DIR",
        )
    status = _run(linker, arguments)
    if status != 0:
        if status < 0:
            print(f"isagen: {name}: {signal.Signals(-status).name}", file=sys.stderr)
        _explain(build, plan_path.parent, words)
        return status if status > 0 else 128 - status
    output = output_of(words)
    if output is None or not is_binary(output):
        return 0
    with _with_symbols(linker, words, output) as audited:
        return _judge(mode, output, lambda: _audit(build.plan, plan_path.parent, audited, str(output), words))


def _run(linker: str, arguments: Sequence[str]) -> int:
    try:
        return subprocess.run([linker, *arguments], check=False).returncode
    except OSError as problem:
        raise BuildError(
            f"cannot be run: {problem.strerror}", where=linker, remedy="configure the build again"
        ) from None


@contextmanager
def _with_symbols(linker: str, words: Sequence[str], output: Path) -> Iterator[Path]:
    """Yield the linked file that is audited: the `output`, or the same with the symbols that an option leaves out."""
    kept = [word for word in words if word not in STRIPS]
    if len(kept) == len(words):
        yield output
        return
    with TemporaryDirectory(prefix="isagen-link-") as folder:
        audited = Path(folder, output.name)
        if _run(linker, [*kept, "-o", str(audited)]) != 0:
            with suppress(OSError):
                output.unlink()
            options = " ".join(word for word in words if word in STRIPS)
            raise BuildError(
                f"cannot be linked without {options} for the audit, which needs the symbols",
                where=str(output),
                remedy=f"take {options} out of the link arguments, and strip when installing",
            )
        yield audited


def _judge(mode: str, output: Path, audit: Callable[[], Result | None]) -> int:
    """Run the `audit` of the linked file `output`, report what was found, and return the exit status."""
    try:
        result = audit()
    except BaseException as problem:
        if mode == "warn" and isinstance(problem, IsagenError | OSError):
            print(f"isagen audit: warning: {reported(problem)}", file=sys.stderr)
            return 0
        with suppress(OSError):
            output.unlink()  # it was not audited to the end: the next build links again
        raise
    if result is None or not result.findings:
        return 0
    text = as_text([result])
    print(f"isagen audit: {'error' if mode == 'error' else 'warning'}: {text}", end="", file=sys.stderr)
    if mode != "error":
        return 0
    print("  to build nevertheless: -Disa_audit=warn", file=sys.stderr)
    with suppress(OSError):
        output.unlink()
    return 1


def _explain(build: Build, folder: Path, words: Sequence[str]) -> None:
    """Report mistakes of the project for which a linker only names symbols."""
    with suppress(IsagenError, OSError):  # the linker has said what it found
        for problem in explained(_objects(build.plan, folder, words), folder, build.sealing.usable):
            print(f"isagen: error: {problem}", file=sys.stderr)


def _objects(plan: Plan, folder: Path, words: Sequence[str]) -> BuildObjects:
    """Return the objects of a link with the arguments `words`, in a build whose plan is in `folder`."""
    return BuildObjects(plan, folder, expand(_inputs(words)), Path.cwd())


def _inputs(words: Sequence[str]) -> list[Path]:
    """Return the objects and archives among a linker's arguments."""
    return [Path(word) for word in words if word.endswith((".o", ".a")) and not word.startswith("-")]


def _audit(plan: Plan, folder: Path, output: Path, shown: str, words: Sequence[str]) -> Result | None:
    """Audit what was linked with the arguments `words`, in a build whose plan is in `folder`."""
    with open_binary(output, shown) as binary:
        if binary.relocatable:
            return None  # yet to be linked again
        records = records_of(binary)
        if not records:
            check_unrecorded(plan, folder, binary, _inputs(words))
            return None  # a target without kernels that has the same link arguments
        return audit_linked(binary, records, _objects(plan, folder, words))


def expanded(arguments: Sequence[str]) -> Iterator[str]:
    """Yield a linker's arguments, with those in response files in their place."""
    for word in arguments:
        if word.startswith("@") and os.path.isfile(word[1:]):
            yield from expanded(shlex.split(Path(word[1:]).read_text(encoding="utf-8", errors="surrogateescape")))
        else:
            yield word


def output_of(words: Sequence[str]) -> Path | None:
    """Return what a linker makes with these arguments; None where it makes nothing."""
    if ANSWERS.intersection(words):
        return None
    output = Path("a.out")
    for number, word in enumerate(words):
        if word in ("-o", "--output") and number + 1 < len(words):
            output = Path(words[number + 1])
        elif word.startswith("--output="):
            output = Path(word.removeprefix("--output="))
        elif word.startswith("-o") and len(word) > 2 and not word.startswith("-ob"):
            output = Path(word[2:])
    return output
