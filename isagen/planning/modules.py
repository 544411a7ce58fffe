"""Extension modules that are kernels as a whole: all sources of a module are built at a level, or none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ..model.errors import ConfigError
from ..model.plan import BUILT, Cell, KernelRow

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def check_module(module: str, kernels: Sequence[str]) -> None:
    """Raise `ConfigError` if `module` cannot name an extension module, or if it has no kernel source."""
    if module and not NAME.fullmatch(module):
        raise ConfigError(
            f"{module!r} cannot name an extension module",
            where="isa_module",
            remedy="use letters, digits and _; the packages above it are isa_subdir",
        )
    if module and not kernels:
        raise ConfigError(
            f"the module {module} has no source",
            where="isa_kernels",
            remedy="name its sources with files(): C, C++ or Cython",
        )


def whole_levels(rows: Sequence[KernelRow]) -> list[KernelRow]:
    """Return the kernels of one module, built only at the levels at which all of them are built.

    Raises `ConfigError` for a source that is not built at the lowest level.
    """
    first_lacking: dict[str, tuple[str, Cell]] = {}
    for row in rows:
        for cell in row.cells:
            if cell.verdict != BUILT:
                first_lacking.setdefault(cell.level, (row.source, cell))

    lowest = rows[0].cells[0].level
    if lowest in first_lacking:
        source, lacking = first_lacking[lowest]
        raise ConfigError(
            f"{source} is a source of a module, which is built as a whole, but is not built at {lowest}",
            where=lacking.reason.removeprefix("by "),
            remedy=f"name {lowest} among its levels",
        )

    def whole(cell: Cell) -> Cell:
        if cell.verdict != BUILT or cell.level not in first_lacking:
            return cell
        source, lacking = first_lacking[cell.level]
        return Cell(cell.level, lacking.verdict, f"its module is not built without {source}: {lacking.reason}")

    return [replace(row, cells=tuple(map(whole, row.cells))) for row in rows]
