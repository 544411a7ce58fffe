"""Emitting: a suffixed copy of every kernel source for every level."""

from __future__ import annotations

import os

from ..model.errors import KernelError
from ..model.files import write_if_changed
from ..model.kept import state_of
from ..model.plan_file import read_plan
from .copies import around_source, including_copy, shim_of
from .done import Record, plan_files

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ..model.plan import KernelRow, Plan

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def emit(
    plan_path: Path,
    folder: Path,
    generated: Sequence[str] = (),
    record: Record | None = None,
) -> None:
    """Write the copies of the plan into `folder`; files that would not change stay as they are.

    `generated` are the paths of the generated kernel sources, in the plan's order. The `record` tells the next run of
    the step what this one read and wrote. Raises `KernelError` where a source that is copied whole cannot be read.
    """
    read = {str(path): state_of(path) for path in plan_files(plan_path) if path.is_file()}
    plan = read_plan(plan_path).plan
    lines = _lines(plan, generated)
    written = []
    for kernel in plan.kernels:
        if kernel.object:
            continue
        line = lines.get(kernel.source, kernel.line)
        content = b""
        if not kernel.included:
            try:
                read[line] = state_of(line)
                with open(line, "rb") as stream:
                    content = stream.read().removeprefix(BYTE_ORDER_MARK)
            except OSError as problem:
                raise KernelError(f"cannot be read: {problem.strerror}", where=kernel.source) from None
        for name, text in _copies(kernel, line, content, os.fspath(folder)):
            path = os.path.join(folder, name)
            write_if_changed(path, text)
            written.append(path)
    if record is not None:
        record.note(written, read=read)


def _copies(kernel: KernelRow, line: str, content: bytes, folder: str) -> Iterator[tuple[str, bytes]]:
    """Yield the names of copies and shims, each with its bytes; `content` is what is copied whole."""
    for cell in kernel.cells:
        if cell.copy and kernel.included:
            yield cell.copy, _bytes(including_copy(kernel, cell.level, folder))
        elif cell.copy:
            head, tail = around_source(line, kernel, cell.level)
            yield cell.copy, _bytes(head) + content + _bytes(tail)
        if cell.shim:
            yield cell.shim, _bytes(shim_of(kernel, cell.level))


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def _lines(plan: Plan, generated: Sequence[str]) -> Mapping[str, str]:
    """Return the path of each generated kernel source. Raises `KernelError` where a target has other outputs too."""
    sources = [kernel.source for kernel in plan.kernels if kernel.generated]
    for source, path in zip(sources, generated, strict=False):
        if os.path.splitext(path)[1] != os.path.splitext(source)[1]:
            raise KernelError(
                f"the target that generates it gives {path} in its place",
                where=f"isa_kernels: {source}",
                remedy="name one output of each target: target[0]",
            )
    if len(generated) != len(sources):
        raise KernelError(
            f"the targets that generate kernel sources give {len(generated)} files for {len(sources)}: "
            f"{', '.join(generated)}",
            where=f"isa_kernels: {', '.join(sources)}",
            remedy="name one output of each target: target[0]",
        )
    return dict(zip(sources, generated, strict=True))
