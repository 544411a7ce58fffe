"""The build matrix as data: kernels x levels, each cell with verdict, reason, flags and facts about its code.

docs/matrix.schema.json describes the matrix as JSON. Binaries contain their matrix in notes (`matrix_notes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Code:
    """The code of one copy.

    `loaded_bytes` is the size of what a program loads from its file if the copy is linked: code, constants and
    initialised data. `code_bytes` is the size of the code alone. Neither counts debug information, whose size depends
    on the build folder.
    `instructions` is the number of instructions. `families` maps each feature that some CPUs of the architecture lack
    to the number of instructions that need it. `widest` is the width of the widest vector register in bits: 0 if no
    instruction uses one, 8192 for a tile. If isagen cannot decode the processor's code, `instructions` is None,
    `families` empty, and `widest` 0. Objects with the same `digest` have the same code, data and relocations.
    """

    loaded_bytes: int
    code_bytes: int
    instructions: int | None
    widest: int
    families: Mapping[str, int]
    digest: str


def is_plain(levels: Iterable[Iterable[Code | None]], by_width: bool = False) -> bool:
    """Return whether the code of higher levels needs only features that the lowest level's code needs, too.

    With `by_width`, return instead whether no level uses wider vectors than the lowest. Features do not show widths:
    compiled for AVX, even scalar code on floats needs AVX.
    `levels` contains the code of the copies of each level, lowest level first. The result is False if no higher level
    has code, or if some code is not decoded, as that code may need any feature.
    """
    lowest, *others = map(list, levels)
    all_codes = [code for codes in (lowest, *others) for code in codes]
    decoded = all(code is not None and code.instructions is not None for code in all_codes)
    if not any(others) or not decoded:
        return False
    if by_width:
        wide, narrow = (max((code.widest for code in codes if code), default=0) for codes in (all_codes, lowest))
        return wide == narrow
    needed, plain = ({name for code in codes if code for name in code.families} for codes in (all_codes, lowest))
    return needed == plain


@dataclass(frozen=True)
class MatrixCell:
    """One kernel at one level.

    `verdict` is built, unavailable or disabled. `stubs` are those that the copy registers, None until the copy is
    compiled. Of the levels that this level requires, `same_as` names the lowest whose copy has the same code, "" if
    there is none. If `folded` names a level, this copy is not linked, and the stubs call that level's copy, which has
    the same code.
    """

    verdict: str
    reason: str
    flags: tuple[str, ...] = ()
    copy: str = ""
    stubs: tuple[str, ...] | None = None
    code: Code | None = None
    same_as: str = ""
    folded: str = ""


@dataclass(frozen=True)
class MatrixKernel:
    """One kernel: its `source`, a path from the project's root, and its cells by level, lowest level first.

    `language` is Meson's name of the source's language, and `args` are the source's arguments in isa.toml.
    """

    source: str
    language: str
    args: tuple[str, ...]
    levels: Mapping[str, MatrixCell]


@dataclass(frozen=True)
class LevelRow:
    """One level: its verdict, its flags by language, and the features that it needs at run time.

    `verdict` is the best that a kernel has at the level. `requires` are the levels that it requires, directly or
    through others, lowest first. `macros` (NAME or NAME=VALUE) are those that the table defines for the level's
    kernels. `dropped` lists, by language, (flag, reason) of each optional flag that the compiler rejects. `added` are
    features that the level's flags turn on, without those that the table lists for the level, the `features` of the
    levels that it requires, and what these imply. `compiled` is whether ninja has compiled
    the level's kernels, None if that is unknown.
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
    added: tuple[str, ...] = ()
    compiled: bool | None = None


@dataclass(frozen=True)
class MatrixCompiler:
    """A compiler of the build: Meson's id, its version, and its name in messages."""

    id: str
    version: str
    name: str


@dataclass(frozen=True)
class Alias:
    """An environment variable that narrows the level at run time.

    Only the first variable that is set to more than blanks counts: the override variable comes first, then the aliases
    in their order. `values` maps values of the variable, in upper case, to meanings. If `always` is not empty, it is
    the meaning of every value. A level's name as a meaning allows the level and the levels that it requires. A level's
    name after a dash allows all levels except this level and the levels that require it.
    """

    variable: str
    values: Mapping[str, str] = field(default_factory=dict)
    always: str = ""

    def meaning(self, value: str) -> str:
        """Return the meaning of `value`, which has no blanks around it.

        A value that is not in `values` is its own meaning. But one that starts with a dash has no meaning: "".
        """
        return self.always or self.values.get(value.upper(), "" if value.startswith("-") else value)

    @property
    def shown(self) -> str:
        """The variable with its possible values, for reports."""
        if self.always:
            return f"{self.variable} (set: {self.always})"
        return f"{self.variable}={'|'.join([*(word.lower() for word in self.values), 'LEVEL'])}"


@dataclass(frozen=True)
class Matrix:
    """The matrix of the build of one set of kernels.

    `features` is the name of the processor's features file; the table may define more features. `baseline` are the
    features that code outside levels may use. `audit_reason` says how links are audited, or why they are not. The
    environment variable `override` narrows the level at run time, as the `aliases` do. `baseline_only` is the reason
    why only the lowest level is built, "" if every level was tried. `withhold` names the project's function that may
    withhold features of a CPU at run time, "" if there is none. `known_bugs` maps each known bug of a compiler to the
    levels that it affects. `beyond_architecture` are `baseline` features that some CPUs of the architecture lack.
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
    levels: tuple[LevelRow, ...]
    kernels: tuple[MatrixKernel, ...]
    aliases: tuple[Alias, ...] = ()
    baseline_only: str = ""
    withhold: str = ""
    known_bugs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[Alias, ...]:
        """The environment variables that narrow the level, highest priority first."""
        return (*([Alias(self.override)] if self.override else []), *self.aliases)

    def level(self, name: str) -> LevelRow | None:
        """Return the level that `name` names, in upper or lower case; None if the table has no such level."""
        return next((level for level in self.levels if level.name == name.upper()), None)

    def cells(self) -> Iterator[tuple[MatrixKernel, str, MatrixCell]]:
        """Yield (kernel, level's name, cell), kernel by kernel, lowest level first."""
        for kernel in self.kernels:
            for name, cell in kernel.levels.items():
                yield kernel, name, cell
