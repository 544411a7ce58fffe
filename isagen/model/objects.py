"""Finds the copy, the kernel and the level of each object that Meson compiles from a copy."""

from __future__ import annotations

import os

from .files import AnyPath
from .names import copy_of_object
from .plan import Plan


def unit_folder(unit: str) -> str:
    """Return the name of the folder in which Meson writes the objects of a unit, which is a static library."""
    return f"lib{unit}.a.p"


class CompiledObjects:
    """The objects that Meson compiles for a plan: one of each copy."""

    def __init__(self, plan: Plan) -> None:
        self._kernels = {cell.copy: (cell.level, kernel.source) for kernel, cell in plan.copies()}
        # In names of objects, Meson replaces the separators of paths with underscores.
        flat = str.maketrans("/:", "__")
        self._copies = {
            (unit_folder(unit.name), copy.translate(flat)): copy for unit in plan.units for copy in unit.copies
        }

    def copy_of(self, path: AnyPath) -> str:
        """Return the name of the copy that the object at `path` is compiled from."""
        folder, name = os.path.split(path)
        copy = copy_of_object(name)
        return self._copies.get((os.path.basename(folder), copy), copy)

    def kernel_of(self, path: AnyPath) -> tuple[str, str]:
        """Return the level and the kernel source of the object at `path`; ("", "") if no copy is compiled to it."""
        return self._kernels.get(self.copy_of(path), ("", ""))
