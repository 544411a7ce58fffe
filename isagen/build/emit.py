"""Emitting: a suffixed copy of every kernel source for every level, and the dispatch headers."""

from __future__ import annotations

from pathlib import Path

from ..model.errors import KernelError
from ..model.files import write_if_changed
from ..model.names import STUBS_MARK, guard_name
from ..model.plan_file import read_plan
from .texts import read_texts

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def emit(plan_path: Path, folder: Path) -> None:
    """Write the copies and the headers of the plan into `folder`; files that would not change stay as they are."""
    plan = read_plan(plan_path).plan
    for name, text in read_texts(plan_path).items():
        if STUBS_MARK.encode() not in text:  # the dispatch source waits for the objects
            write_if_changed(folder / name, text)
    for kernel in plan.kernels:
        try:
            content = Path(kernel.line).read_bytes()
        except OSError as problem:
            raise KernelError(f"cannot be read: {problem.strerror}", where=kernel.source) from None
        for cell in kernel.cells:
            if cell.copy:
                copy = copy_of(content, kernel.line, kernel.source, cell.level)
                write_if_changed(folder / cell.copy, copy)


def copy_of(content: bytes, line: str, source: str, level: str) -> bytes:
    """Return the copy of a kernel source: `content`, with messages, debuggers and coverage led back to `line`."""
    quoted = line.replace("\\", "\\\\").replace('"', '\\"')
    shown = source.replace("*/", "* /")
    head = f"/* {level}: copied by isagen from {shown}. Edit that file. */\n"
    head += f'#include "{guard_name(level)}"\n#line 1 "{quoted}"\n'
    return head.encode(errors="surrogateescape") + content.removeprefix(BYTE_ORDER_MARK)
