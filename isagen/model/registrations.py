"""Registrations by the objects of one level: stubs by kernel source, and the writable data that all levels share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .matrix import Code, KernelCode, LevelCode


@dataclass(frozen=True)
class Registered:
    """One kernel source at one level: the stubs that it registers, those that it says to be `without`, and its code.

    The `code` is None where isagen does not read objects.
    """

    registers: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    code: Code | None = None


@dataclass(frozen=True)
class Registrations:
    """One level: its kernel sources, and the size and initial value of each weak variable that all levels share.

    `folded` maps kernel sources without code at this level to the lower level whose code their stubs call. Of the names
    in the level's objects, only this level defines `private_names`, and no linker merges them; other objects may refer
    to `public_names`. Code initialises the level's own `initialised_variables`.
    """

    level: str
    kernels: Mapping[str, Registered]
    shared: Mapping[str, str]
    folded: Mapping[str, str] = field(default_factory=dict)
    private_names: tuple[str, ...] = ()
    initialised_variables: tuple[str, ...] = ()
    public_names: tuple[str, ...] = ()

    def level_code(self, project: str) -> LevelCode:
        """Return what the level of a project contains, for the matrix."""
        kernels = {
            source: KernelCode(found.registers, found.code, self.folded.get(source, ""))
            for source, found in self.kernels.items()
        }
        return LevelCode(project, self.level, kernels)
