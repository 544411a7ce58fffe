"""Linking, then auditing what was linked: the step that runs in the linker's place (`configure.linkers`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from ..audit.build_objects import BuildObjects, linked_objects
from ..audit.findings import WARNINGS, Result
from ..audit.recorded import audit_linked
from ..audit.records import records_of
from ..binary.formats import is_binary, is_library_name, is_object_name, open_binary
from ..binary.protocol import CODE_KINDS, Binary
from ..model.errors import BuildError, IsagenError, reported
from ..model.files import write_if_changed
from ..model.names import (
    DISPATCH_SOURCE,
    copy_of_object,
    is_sealed_name,
    sealed_name,
)
from ..model.plan import Build, Plan
from ..model.plan_file import outputs_folder, read_plan, refusal_file
from ..model.record import Record
from ..processors.features import features_of
from .linker import Linking, discard
from .tables import check_stubs

# Options that strip symbols, which the audit needs to separate functions. GNU ld accepts the start of a long option,
# with one dash or two. The last one takes a value.
STRIPS, LONG = {"-s", "-x"}, ("strip-all", "discard-all", "retain-symbols-file")


def finish(linking: Linking, plan_path: str, mode: str) -> int:
    """Wait for a link, audit its output, and return the exit status.

    In `mode` error, a fault fails the link, and the output is removed; in `mode` warn, it is only reported.
    """
    build = read_plan(plan_path)
    folder = os.path.dirname(plan_path)
    objects = BuildObjects(build.plan, Path(folder), linked_objects(_inputs(linking.words)), Path.cwd())
    with suppress(IsagenError, OSError):  # the audit reports what is wrong
        _load(build.record)
    status = linking.wait()
    if status != 0:
        if status < 0:
            print(f"isagen: {linking.linker}: {_signal_name(-status)}", file=sys.stderr)
        _explain(build, folder, objects)
        return status if status > 0 else 128 - status
    if linking.output is None or not is_binary(linking.output):
        return 0
    refusal = refusal_file(plan_path, mode, linking.output)
    with suppress(OSError):  # the disk is full
        write_if_changed(refusal, linking.output)
    with _with_symbols(linking) as audited:
        audit = partial(_audit, build.plan, folder, audited, linking, objects)
        status = _judge(mode, linking.output, audit)
    if status == 0:
        with suppress(OSError):
            os.unlink(refusal)
    return status


@contextmanager
def _with_symbols(linking: Linking) -> Iterator[str]:
    """Yield the linked file that is audited: the output, or the same with the symbols that an option strips."""
    output = linking.output or ""
    kept = _without_stripping(linking.words)
    if len(kept) == len(linking.words):
        yield output
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="isagen-link-") as folder:
        again = [*kept, "-o", f"{folder}/{os.path.basename(output)}"]
        if _linked_again(linking.linker, again) != 0:
            raise BuildError(
                "cannot be linked with its symbols for the audit", where=output, remedy=STRIP_WHEN_INSTALLING
            )
        yield os.path.join(folder, os.path.basename(output))


STRIP_WHEN_INSTALLING = "take the option that strips out of the link arguments, and strip when installing"


def _without_stripping(words: Sequence[str]) -> list[str]:
    """Return a linker's arguments without those that strip symbols."""
    kept = []
    waiting = False
    for word in words:
        bare, equals, _ = word.lstrip("-").partition("=")
        strips = word.startswith("-") and len(bare) > 6 and any(name.startswith(bare) for name in LONG)
        if not waiting and not strips and word not in STRIPS:
            kept.append(word)
        waiting = strips and LONG[-1].startswith(bare) and not equals
    return kept


def _linked_again(linker: str, words: Sequence[str]) -> int:
    linking = Linking(linker, words)
    try:
        linking.start()
        return linking.wait()
    except BaseException:
        linking.discard()
        raise


def _signal_name(number: int) -> str:
    import signal

    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"signal {number}"


def _judge(mode: str, output: str, audit: Callable[[], Result | None]) -> int:
    """Run the `audit` of the linked file `output`, report what was found, and return the exit status."""
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
    if not is_fault:
        return 0
    print("  to build nevertheless: -Disa_audit=warn", file=sys.stderr)
    discard(output)
    return 1


def _explain(build: Build, folder: str, objects: BuildObjects) -> None:
    """Explain a failed link, where the linker only names symbols."""
    from .explain import explained

    with suppress(IsagenError, OSError):  # the linker has printed its own errors
        for problem in explained(objects, Path(folder), build.sealing.usable):
            print(f"isagen: error: {problem}", file=sys.stderr)


def _inputs(words: Sequence[str]) -> list[str]:
    """Return the objects and archives among a linker's arguments."""
    return [word for word in words if (is_object_name(word) or is_library_name(word)) and not word.startswith("-")]


def _load(record: Record) -> None:
    """Load what the audit reads, while the linker runs."""
    code = features_of(record.features).processor.decodable
    if code is not None:
        code.installed()


def _audit(
    plan: Plan,
    folder: str,
    linked: str,
    linking: Linking,
    objects: BuildObjects,
) -> Result | None:
    """Audit what was linked, with its symbols, in a build whose plan is in `folder`."""
    with open_binary(linked, linking.output or "") as binary:
        if binary.relocatable:
            return None  # yet to be linked again
        records = records_of(binary)
        if not records:
            check_unrecorded(plan, Path(folder), binary, map(Path, _inputs(linking.words)))
            return None  # a target without kernels that has the same link arguments
        check_stubs(_inputs(linking.words))
        _check_named(binary)
        return audit_linked(binary, records, objects)


def _check_named(binary: Binary) -> None:
    """Raise `BuildError` if the symbols of a level's code are stripped, by whichever option."""
    missing = set(binary.levels)
    for symbol in binary.symbols() if missing else ():
        if symbol.kind in CODE_KINDS and symbol.defined:
            level = binary.level_at(symbol.address)
            if level in missing and is_sealed_name(binary.name(symbol), level):
                missing.discard(level)
    if missing:
        message = "the link left out the symbols that its audit needs"
        raise BuildError(message, where=binary.shown, remedy=STRIP_WHEN_INSTALLING)


def check_unrecorded(plan: Plan, folder: Path, binary: Binary, inputs: Iterable[Path]) -> None:
    """Raise `BuildError` if a file without a record was linked from kernels of the plan in `folder`.

    Other targets of the project may have the same link arguments, and need no record.
    """
    if binary.levels or _are_of_kernels(plan, folder, inputs):
        raise BuildError(
            "holds no record of isagen, although kernels are linked into it",
            where=binary.shown,
            remedy="a linker script or an option of the link discards notes: keep the section .note.isagen",
        )


def _are_of_kernels(plan: Plan, folder: Path, inputs: Iterable[Path]) -> bool:
    """Return whether sealed objects or the dispatch source's object are among the files that were linked."""
    outputs = outputs_folder(folder)
    sealed = {(outputs / sealed_name(cell.copy, cell.level)).resolve() for _, cell in plan.copies()}
    return any(
        path.resolve() in sealed
        or (path.name.startswith("meson-generated_") and DISPATCH_SOURCE.search(copy_of_object(path.name)))
        for path in inputs
    )
