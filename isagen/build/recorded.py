"""Whether what a link made must have a record: without one, it would pass for a target without kernels, unaudited."""

from __future__ import annotations

from collections.abc import Iterable

from ..binary.protocol import Binary
from ..model.errors import BuildError
from ..model.names import DISPATCH_SOURCE, copy_of_object, level_of_section, sealed_name
from ..model.plan import Plan
from ..model.plan_file import outputs_folder

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from pathlib import Path


def check_unrecorded(plan: Plan, folder: Path, binary: Binary, inputs: Iterable[Path]) -> None:
    """Raise `BuildError` if a file without a record was linked from kernels of the plan in `folder`.

    Other targets of the project may have the same link arguments, and need no record.
    """
    if _has_level_code(binary) or _are_of_kernels(plan, folder, inputs):
        raise BuildError(
            "holds no record of isagen, although kernels are linked into it",
            where=binary.shown,
            remedy="a linker script or an option of the link discards notes: keep the section .note.isagen",
        )


def _has_level_code(binary: Binary) -> bool:
    """Return whether a linked file holds code of a sealed level, which archives may have brought."""
    return any(level_of_section(section.name) for section in binary.sections)


def _are_of_kernels(plan: Plan, folder: Path, inputs: Iterable[Path]) -> bool:
    """Return whether sealed objects or the dispatch source's object are among the files that were linked."""
    outputs = outputs_folder(folder)
    sealed = {(outputs / sealed_name(cell.copy, cell.level)).resolve() for _, cell in plan.copies()}
    return any(
        path.resolve() in sealed
        or (path.name.startswith("meson-generated_") and DISPATCH_SOURCE.search(copy_of_object(path.name)))
        for path in inputs
    )
