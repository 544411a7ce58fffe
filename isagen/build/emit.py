"""Emitting: a suffixed copy of every kernel source for every level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath

from ..model.errors import KernelError
from ..model.files import write_if_changed
from ..model.plan import Plan
from ..model.plan_file import read_plan
from .copies import copy_of, shim_of


def emit(plan_path: Path, folder: Path, generated: Sequence[str] = ()) -> list[Path]:
    """Write the copies of the plan into `folder`; files that would not change stay as they are.

    Return the files that were read and written.

    `generated` are the paths of all kernel sources, in the plan's order, where some are generated.
    """
    plan = read_plan(plan_path).plan
    lines = _lines(plan, generated)
    files = []
    for kernel in plan.kernels:
        line = lines.get(kernel.source, kernel.line)
        try:
            content = Path(line).read_bytes()
        except OSError as problem:
            raise KernelError(f"cannot be read: {problem.strerror}", where=kernel.source) from None
        files.append(Path(line))
        for cell in kernel.cells:
            if cell.copy:
                files.append(folder / cell.copy)
                write_if_changed(files[-1], copy_of(content, line, kernel, cell.level))
            if cell.shim:
                files.append(folder / cell.shim)
                write_if_changed(files[-1], shim_of(kernel, cell.level))
    return files


def _lines(plan: Plan, generated: Sequence[str]) -> dict[str, str]:
    """Return the path of each generated kernel source. Raises `KernelError` where a target has other outputs too."""
    sources = [kernel.source for kernel in plan.kernels if kernel.generated]
    made = generated[len(plan.kernels) - len(sources) :]
    for source, path in zip(sources, made, strict=False):
        if PurePath(path).suffix != PurePath(source).suffix:
            raise KernelError(
                f"the target that generates it gives {path} in its place",
                where=f"isa_kernels: {source}",
                remedy="name one output of each target: target[0]",
            )
    if len(made) != len(sources):
        raise KernelError(
            f"the targets that generate kernel sources give {len(made)} files for {len(sources)}: {', '.join(made)}",
            where=f"isa_kernels: {', '.join(sources)}",
            remedy="name one output of each target: target[0]",
        )
    return dict(zip(sources, made, strict=True))
