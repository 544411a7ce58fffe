"""What the objects of one level register and share: each kernel source's stubs, and the data common to all levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from .matrix import Code


@dataclass(frozen=True)
class Registered:
    """One kernel source at one level.

    `registers` are the stubs for which the source registers a function, `without` the stubs for which it registers that
    it has no function. `code` is None if isagen does not read objects, and for the object of a shim. `folded` is the
    same as in `MatrixCell`.
    """

    registers: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    code: Code | None = None
    folded: str = ""


@dataclass(frozen=True)
class LevelCode:
    """The stubs and code in the objects of one level, by kernel source, as a note of the binary lists them."""

    project: str
    level: str
    kernels: Mapping[str, Registered] = field(default_factory=dict)


@dataclass(frozen=True)
class Registrations:
    """What the objects of one level register and share.

    `shared` maps each weak variable that all levels share to a text with its size and initial value. `folded` maps each
    kernel source that folds at this level to the lower level whose code is called instead. All names of symbols are
    those before sealing. `private_names` are the names, other than weak ones, that the level defines and that become
    private to it. `public_names` are the names in the level's objects that do not become private to it.
    `initialised_variables` are private weak variables with dynamic initialisation, and their guards.
    """

    level: str
    kernels: Mapping[str, Registered]
    shared: Mapping[str, str]
    folded: Mapping[str, str] = field(default_factory=dict)
    private_names: tuple[str, ...] = ()
    initialised_variables: tuple[str, ...] = ()
    public_names: tuple[str, ...] = ()

    def level_code(self, project: str) -> LevelCode:
        """Return the stubs and code of the level, for the matrix of `project`."""
        kernels = {source: replace(one, folded=self.folded.get(source, "")) for source, one in self.kernels.items()}
        return LevelCode(project, self.level, kernels)
