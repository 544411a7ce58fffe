"""The build matrix as data: kernels x levels, each cell with verdict, reason, flags and what its code is made of.

docs/matrix.schema.json describes its JSON. Binaries carry it (`binary notes`, `NOTE_OWNER` and `LEVEL_OWNER`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .aliases import Alias
from .codec import ADDED
from .names import MATRIX_FORMAT as MATRIX_FORMAT


@dataclass(frozen=True)
class Code:
    """The code of one copy.

    `loaded_bytes` is what its object adds to a program if it does not fold: code, constants and data. `code_bytes` is
    the part that is code. Neither counts debug information, whose size depends on the folder of the build.
    `instructions` counts them, and `families` those that need a feature which not every CPU of the architecture has, by
    feature; `widest` is the width of the widest vector register in bits, 0 where there is none, 8192 for a tile. All
    three are None, empty and 0 where isagen decodes nothing of the processor. Objects with one `digest` have the same
    code, data and relocations.
    """

    loaded_bytes: int
    code_bytes: int
    instructions: int | None
    widest: int
    families: Mapping[str, int]
    digest: str


def is_plain(levels: Iterable[Iterable[Code | None]]) -> bool:
    """Return whether no code of several levels, given lowest first, needs a feature that the lowest one's does not.

    What is not decoded may need any.
    """
    lowest, *others = map(list, levels)
    every = [code for codes in (lowest, *others) for code in codes]
    decoded = all(code is not None and code.instructions is not None for code in every)
    needed, plain = ({name for code in codes if code for name in code.families} for codes in (every, lowest))
    return any(others) and decoded and needed == plain


@dataclass(frozen=True)
class MatrixCell:
    """One kernel at one level.

    `verdict` is built, unavailable or disabled. `stubs` are those that the copy registers, None while it is not
    compiled. `same_as` is the lowest level whose copy has the same code. `seconds` is what compiling took. `folded` is
    the level whose copy the stubs call, where this one has the same code, and is not linked.
    """

    verdict: str
    reason: str
    flags: tuple[str, ...] = ()
    copy: str = ""
    stubs: tuple[str, ...] | None = None
    code: Code | None = None
    same_as: str = ""
    seconds: float | None = None
    folded: str = field(default="", metadata={ADDED: True})


@dataclass(frozen=True)
class MatrixKernel:
    """One kernel source, as its path from the project's root, with its cells by level, lowest level first."""

    source: str
    language: str
    args: tuple[str, ...]
    levels: Mapping[str, MatrixCell]


@dataclass(frozen=True)
class MatrixLevel:
    """One level: its verdict for the whole build, its flags by language, and what it needs at run time.

    `requires` are the levels below it, `macros` what its kernels see defined. `dropped` are (flag, reason) of the
    optional flags that the compiler refuses. `compiled` tells whether its code is there; None where that is unknown.
    """

    name: str
    rank: int
    verdict: str
    reason: str
    requires: tuple[str, ...]
    features: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]]
    macros: tuple[str, ...]
    dropped: Mapping[str, tuple[tuple[str, str], ...]]
    compiled: bool | None


@dataclass(frozen=True)
class MatrixCompiler:
    """A compiler of the build: Meson's name of it, its version, and how messages name it."""

    id: str
    version: str
    name: str


@dataclass(frozen=True)
class Matrix:
    """The matrix of one project's build.

    Names of features are those of the processor's features file, `features`, or the table's own. `override` is the
    variable that narrows the level at run time, and `aliases` are others. `baseline_only` is the reason why only the
    lowest level is built, empty where every level was tried.
    """

    project: str
    isagen: str
    table: str
    features: str
    override: str
    cpu_family: str
    system: str
    optimization: str
    lto: bool
    compilers: Mapping[str, MatrixCompiler]
    baseline: tuple[str, ...]
    beyond_architecture: tuple[str, ...]
    baseline_origin: str
    sealed: bool
    seal_reason: str
    audited: bool
    audit_reason: str
    levels: tuple[MatrixLevel, ...]
    kernels: tuple[MatrixKernel, ...]
    aliases: tuple[Alias, ...] = ()
    baseline_only: str = field(default="", metadata={ADDED: True})

    def level(self, name: str) -> MatrixLevel | None:
        """Return the level of a name, in any case; None where the table has no such level."""
        return next((level for level in self.levels if level.name == name.upper()), None)

    def cells(self) -> Iterator[tuple[MatrixKernel, str, MatrixCell]]:
        """Yield (kernel, level's name, cell), kernel by kernel, lowest level first."""
        for kernel in self.kernels:
            for name, cell in kernel.levels.items():
                yield kernel, name, cell


@dataclass(frozen=True)
class KernelCode:
    """What one kernel source registers at one level, and its code; None where isagen does not read objects.

    `folded` is the lower level whose code its stubs call, as its own is the same, and is not linked.
    """

    stubs: tuple[str, ...]
    code: Code | None
    folded: str = field(default="", metadata={ADDED: True})


@dataclass(frozen=True)
class LevelCode:
    """What the sealed objects of one level hold, by kernel source; a note of it is in one of them."""

    project: str
    level: str
    kernels: Mapping[str, KernelCode] = field(default_factory=dict)
