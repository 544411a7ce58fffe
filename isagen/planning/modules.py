"""Whole modules: an extension module that is a kernel itself has all its sources at a level, or none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..model.errors import ConfigError, KernelError
from ..model.plan import BUILT, Cell, KernelRow

NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
CYTHON = ".pyx"


def check_module(module: str, kernels: Sequence[str]) -> None:
    """Raise `ConfigError` or `KernelError` for a `module` that cannot be, or one without any kernel source."""
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


def cython_without_module(source: str) -> KernelError:
    """Return the error of a Cython source whose functions are to be called through stubs."""
    return KernelError(
        "is Cython, whose functions belong to a Python module and its state: no stub can call them",
        where=f"isa_kernels: {source}",
        remedy="let the module as a whole be the kernel: isa_module = 'NAME', or 'module': 'NAME' in isa_sets",
    )


def whole_levels(rows: Sequence[KernelRow]) -> list[KernelRow]:
    """Return the kernels of one module, at the levels that all of them have."""
    lacking: dict[str, tuple[str, Cell]] = {}
    for row in rows:
        for cell in row.cells:
            if cell.verdict != BUILT:
                lacking.setdefault(cell.level, (row.source, cell))
    return [replace(row, cells=tuple(_whole(row, cell, lacking) for cell in row.cells)) for row in rows]


def _whole(row: KernelRow, cell: Cell, lacking: Mapping[str, tuple[str, Cell]]) -> Cell:
    source, other = lacking.get(cell.level, (row.source, cell))
    if cell.verdict != BUILT or source == row.source:
        return cell
    return Cell(cell.level, other.verdict, f"its module is not built without {source}: {other.reason}")
