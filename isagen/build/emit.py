"""Emitting: a suffixed copy of every kernel source for every level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from ..model.errors import KernelError
from ..model.files import write_if_changed
from ..model.names import guard_name
from ..model.plan import Plan
from ..model.plan_file import read_plan

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def emit(plan_path: Path, folder: Path, generated: Sequence[str] = ()) -> None:
    """Write the copies of the plan into `folder`; files that would not change stay as they are.

    `generated` are the paths of the generated kernel sources, in the plan's order.
    """
    plan = read_plan(plan_path).plan
    lines = _lines(plan, generated)
    for kernel in plan.kernels:
        line = lines.get(kernel.source, kernel.line)
        try:
            content = Path(line).read_bytes()
        except OSError as problem:
            raise KernelError(f"cannot be read: {problem.strerror}", where=kernel.source) from None
        for cell in kernel.cells:
            if cell.copy:
                copy = copy_of(content, line, kernel.source, cell.level)
                write_if_changed(folder / cell.copy, copy)


def _lines(plan: Plan, generated: Sequence[str]) -> dict[str, str]:
    """Return the path of each generated kernel source. Raises `KernelError` where a target has other outputs too."""
    sources = [kernel.source for kernel in plan.kernels if kernel.generated]
    for source, path in zip(sources, generated, strict=False):
        if PurePath(path).suffix != PurePath(source).suffix:
            raise KernelError(
                f"the target that generates it gives {path} first",
                where=f"isa_kernels: {source}",
                remedy="name one output of the target: target[0]",
            )
    return dict(zip(sources, generated, strict=False))


def copy_of(content: bytes, line: str, source: str, level: str) -> bytes:
    """Return the copy of a kernel source: `content`, with messages, debuggers and coverage led back to `line`."""
    quoted = line.replace("\\", "\\\\").replace('"', '\\"')
    shown = source.replace("*/", "* /")
    head = f"/* {level}: copied by isagen from {shown}. Edit that file. */\n"
    head += f'#include "{guard_name(level)}"\n#line 1 "{quoted}"\n'
    return head.encode(errors="surrogateescape") + content.removeprefix(BYTE_ORDER_MARK)
