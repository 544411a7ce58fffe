"""The step that runs in the linker's place (`configure.linker_scripts`): it links, then audits the output."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..audit.binaries import audit_linked
from ..audit.build_objects import BuildObjects, linked_objects
from ..audit.findings import WARNINGS, Result
from ..binary.contents import CODE_KINDS
from ..binary.formats import is_binary, is_library_name, is_object_name, open_binary
from ..binary.reader import Binary
from ..model.errors import BuildError, IsagenError, reported
from ..model.names import DISPATCH_SOURCE, copy_of_object, level_of_name, sealed_name
from ..model.ninja import NinjaFile
from ..model.plan import Plan
from ..model.plan_file import outputs_folder, read_plan
from .linker_process import Linking, discard
from .tables import check_stubs

# Python's name of an extension module, with its processor: _core.cpython-313-x86_64-linux-gnu.so.
EXTENSION = re.compile(r"\.(?:cpython|pypy|graalpy)[^.]*-(\w+)-linux-[^.]*\.so$")
STRIP_WHEN_INSTALLING = "in the link arguments, remove the option that strips symbols; strip when installing"


def finish(linking: Linking, plan_path: str, mode: str) -> int:
    """Wait for a link, audit its output, return the exit status. If the link fails, print mistakes that explain it."""
    build = read_plan(plan_path)
    folder = Path(plan_path).parent
    objects = BuildObjects(
        build.plan, folder, linked_objects(_inputs(linking.words), NinjaFile(Path.cwd())), Path.cwd()
    )
    status = linking.process.wait()
    if status != 0:
        if status < 0:  # a signal ended the linker
            print(f"isagen: {linking.linker}: {signal.strsignal(-status)}", file=sys.stderr)
        from .explain import explained

        with suppress(IsagenError, OSError):  # the linker has printed its own errors
            for problem in explained(objects):
                print(f"isagen: error: {problem}", file=sys.stderr)
        return status if status > 0 else 128 - status
    if linking.output is None or not is_binary(linking.output):
        return 0
    _check_name(linking.output, build.cpu_family)
    status = judge(mode, partial(_audit, build.plan, folder, linking, linking.output, objects))
    if status:
        discard(linking.output)
    return status


def judge(mode: str, audit: Callable[[], Result | None]) -> int:
    """Call the `audit` of a file, print what it finds, and return the exit status.

    In `mode` error, a fault gives 1, and an error that `audit` raises is passed on. In `mode` warn, both are only
    reported.
    """
    try:
        result = audit()
    except (IsagenError, OSError) as problem:
        if mode != "warn":
            raise
        print(f"isagen audit: warning: {reported(problem)}", file=sys.stderr)
        return 0
    if result is None or not result.findings:
        return 0
    from ..audit.report import text_of  # most links have no finding

    is_fault = mode == "error" and any(finding.kind not in WARNINGS for finding in result.findings)
    print(f"isagen audit: {'error' if is_fault else 'warning'}: {text_of(result)}", end="", file=sys.stderr)
    if is_fault:
        print("  to build nevertheless: -Disa_audit=warn", file=sys.stderr)
    return int(is_fault)


def _inputs(words: Sequence[str]) -> list[str]:
    """Return the words that name objects and static libraries, also those that are values of options."""
    return [word for word in words if (is_object_name(word) or is_library_name(word)) and not word.startswith("-")]


def _audit(plan: Plan, folder: Path, linking: Linking, output: str, objects: BuildObjects) -> Result | None:
    with open_binary(output) as binary:
        if binary.relocatable:
            return None  # the final link is audited
        records = binary.records()
        if not records:
            check_unrecorded(plan, folder, binary, map(Path, _inputs(linking.words)))
            return None  # a target without kernels may have the same link arguments
        check_stubs(_inputs(linking.words))
        _check_not_stripped(binary)
        return audit_linked(binary, records, objects)


def _check_name(output: str, cpu_family: str) -> None:
    """Warn of an extension module that is named for another processor than it is built for, as in a cross build."""
    named = EXTENSION.search(output)
    if named is not None and named[1] != cpu_family:
        print(
            f"isagen: warning: {output}: is named for {named[1]}, but built for {cpu_family}: Python there does not "
            "find it; describe that Python with Meson's option python.build_config",
            file=sys.stderr,
        )


def _check_not_stripped(binary: Binary) -> None:
    missing = set(binary.levels)
    for symbol in binary.symbols() if missing else ():
        if symbol.kind in CODE_KINDS and symbol.defined:
            level = binary.level_at(symbol.address)
            if level in missing and level_of_name(symbol.name) == level.lower():
                missing.discard(level)
    if missing:
        message = "the link left out the symbols that its audit needs"
        raise BuildError(message, where=binary.shown, remedy=STRIP_WHEN_INSTALLING)


def check_unrecorded(plan: Plan, folder: Path, binary: Binary, inputs: Iterable[Path]) -> None:
    """Raise `BuildError` if a file without a record contains kernels of the plan in `folder`.

    Other targets of the project may have the same link arguments. They have no kernels, and need no record.
    """
    if binary.levels or _contain_kernels(plan, folder, inputs):
        raise BuildError(
            "contains no record of isagen, although kernels are linked into it",
            where=binary.shown,
            remedy="a linker script or an option of the link discards notes: keep the section of isagen's notes "
            "(.note.isagen, .isagen or __isagen)",
        )


def _contain_kernels(plan: Plan, folder: Path, inputs: Iterable[Path]) -> bool:
    outputs = outputs_folder(folder)
    sealed = {(outputs / sealed_name(cell.copy, cell.level)).resolve() for _, cell in plan.copies()}
    return any(
        path.resolve() in sealed
        or (path.name.startswith("meson-generated_") and DISPATCH_SOURCE.search(copy_of_object(path.name)))
        for path in inputs
    )
