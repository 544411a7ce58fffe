"""The objects that Meson compiles: their names, and which kernel and level each is of."""

from __future__ import annotations

import os
import posixpath

from .files import AnyPath
from .names import copy_of_object, flat_name
from .plan import Plan

# Meson hashes the start of a path of more folders than its name has, where that makes the name shorter.
PARTS, HASH = 5, 41


def object_name(source: str, folder: str) -> str:
    """Return what Meson calls the objects of a source in targets of a `folder`; "" where that is not known.

    Both are paths in the project. Meson's `Backend.object_filename_from_source`, of version 1.0.1 and later.
    """
    if source.startswith(("../", "/")) or folder.startswith(("../", "/")):
        return ""
    path = posixpath.relpath(f"/{source}", f"/{folder}")
    last = "/".join(path.split("/")[-PARTS:])
    return f"{flat_name(path)}.o" if len(path) <= len(last) + HASH else ""


def unit_folder(unit: str) -> str:
    """Return the name of the folder where Meson puts the objects of a unit."""
    return f"lib{unit}.a.p"


class CompiledObjects:
    """The objects that Meson compiles for a plan; a kernel that is compiled without copies has one in each unit."""

    def __init__(self, plan: Plan) -> None:
        cells = list(plan.copies())
        self._kernels = {cell.copy: (cell.level, kernel.source) for kernel, cell in cells}
        self._copies = {(unit_folder(unit.name), flat_name(copy)): copy for unit in plan.units for copy in unit.copies}
        self._names = names = {cell.copy: kernel.object for kernel, cell in cells if kernel.object}
        self._direct = {
            (unit_folder(unit.name), names[copy]): copy for unit in plan.units for copy in unit.copies if copy in names
        }

    def copy_of(self, path: AnyPath) -> str:
        """Return the name of the copy that the object at `path` is compiled from, or stands for.

        An object of a copy that is not compiled any more is of none: a build folder may have held fewer kernels.
        """
        folder, name = os.path.split(path)
        place, copy = os.path.basename(folder), copy_of_object(name)
        found = self._direct.get((place, name))
        if found is None and (copy := self._copies.get((place, copy), copy)) not in self._names:
            return copy
        return found or ""

    def kernel_of(self, path: AnyPath) -> tuple[str, str]:
        """Return the level and the kernel source behind the object at `path`; nothing for other objects."""
        return self._kernels.get(self.copy_of(path), ("", ""))
