"""Emitting: a suffixed copy of every kernel source for every level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ..model.errors import KernelError
from ..model.plan import Plan
from ..model.plan_file import read_plan
from .copies import around_source, shim_of
from .done import Record, plan_files, state_of
from .write_copies import write_copies

if TYPE_CHECKING:
    from .write_copies import Listing


def emit(plan_path: Path, folder: Path, generated: Sequence[str] = (), record: Record | None = None) -> None:
    """Write the copies of the plan into `folder`; files that would not change stay as they are.

    `generated` are the paths of all kernel sources, in the plan's order, where some are generated. The `record` tells
    the next run of the step what this one read and wrote.
    """
    planned = {str(path): state_of(path) for path in plan_files(plan_path) if path.is_file()}
    plan = read_plan(plan_path).plan
    listing = _listing(plan, folder, _lines(plan, generated))
    read = write_copies(listing)
    if record is not None:
        copies = [copy for _, copies in listing.values() for copy, _, _ in copies]
        record.note(copies, listing, planned | read)


def _listing(plan: Plan, folder: Path, lines: Mapping[str, str]) -> Listing:
    """Return the copies of a plan; `lines` are the paths of generated sources."""
    found: dict[str, tuple[str, list[tuple[str, str, str | None]]]] = {}
    for kernel in plan.kernels:
        line = lines.get(kernel.source, kernel.line)
        copies: list[tuple[str, str, str | None]] = []
        for cell in kernel.cells:
            if cell.copy:
                copies.append((str(folder / cell.copy), *around_source(line, kernel, cell.level)))
            if cell.shim:
                copies.append((str(folder / cell.shim), shim_of(kernel, cell.level), None))
        found[line] = (kernel.source, copies)
    return found


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
