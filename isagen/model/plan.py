"""The plan: kernels x levels, each cell with flags, verdict and reason; and the configured build that contains it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from .languages import can_be_included
from .matrix import Alias, LevelRow, MatrixCompiler
from .names import dispatch_name, front_name
from .record import Record

# The verdicts of a cell: a copy is built; the compiler cannot build one; project, packager or baseline disable it.
BUILT, UNAVAILABLE, DISABLED = "built", "unavailable", "disabled"
# Values of `Cell.by`, which says what disables a cell: an entry of [kernels] in isa.toml, or the baseline, because it
# contains the level.
ENTRY, BASELINE = "entry", "baseline"
# The reason why no link is audited in an opaque build, or where no reader knows the format of linked files.
UNREAD_LINKS = "isagen does not read what this build links"
# `LinkAudit.how` if ninja audits only the targets that a project lists in isa_links.
BY_TARGETS = "by isagen/audit, only targets in isa_links"


@dataclass(frozen=True)
class Verdict:
    """The result of probing one level with the compiler of one language.

    `dropped` lists (flag, reason) of each optional flag that the compiler rejects; `flags` are the level's other flags.
    All of `features` must be checked at run time: the level's own, those of the levels that it requires, and those
    whose macro the compiler predefines under `flags`.
    """

    available: bool
    reason: str
    flags: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One kernel at one level: `verdict` is built, unavailable or disabled.

    `copy` is the name of the copy's file, "" if there is none. If isa.toml lists functions to register and the copy
    cannot register them, the C source `shim` does; otherwise, `shim` is "". `by` is `ENTRY` or `BASELINE` if one of
    these disables the cell, "" otherwise.
    """

    level: str
    verdict: str
    reason: str
    flags: tuple[str, ...] = ()
    copy: str = ""
    shim: str = ""
    by: str = ""


@dataclass(frozen=True)
class KernelRow:
    """One kernel source (path from the project's root) with its cells, lowest level first.

    `shown_path`, the source's path from the build folder's root, is what compiler messages and debuggers show.
    `registers` maps stubs to the functions that isagen registers for them, at the end of each copy or in its shim;
    `header` declares these stubs.
    """

    source: str
    shown_path: str
    language: str
    args: tuple[str, ...]
    cells: tuple[Cell, ...]
    generated: bool = False
    header: str = ""
    registers: Mapping[str, str] = field(default_factory=dict)

    @property
    def included(self) -> bool:
        """Whether copies include the source. Otherwise they contain its text, and are rewritten if the text changes."""
        return not self.generated and can_be_included(self.shown_path)


@dataclass(frozen=True)
class Unit:
    """Copies of one level that form one Meson static library. `args` maps each language to the compiler's arguments."""

    name: str
    level: str
    copies: tuple[str, ...]
    args: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Plan:
    """The plan of one set of kernels. `kernel_set` is the name of the set, "" if a project has only one.

    `override`, `aliases` and `withhold` are the same as in `Matrix`. If the kernels are a whole extension module,
    `module` is the name of the module; for kernels behind stubs, it is "".
    """

    table: str
    override: str
    levels: tuple[LevelRow, ...]
    kernels: tuple[KernelRow, ...]
    units: tuple[Unit, ...]
    kernel_set: str = ""
    aliases: tuple[Alias, ...] = ()
    module: str = ""
    withhold: str = ""

    def built_levels(self) -> tuple[str, ...]:
        """Return the levels that have copies, lowest first."""
        built = {unit.level for unit in self.units}
        return tuple(level.name for level in self.levels if level.name in built)

    def is_without_source(self, level: LevelRow) -> bool:
        """Return whether a level is disabled because isa.toml's [kernels] excludes it for every source."""
        cells = [cell for kernel in self.kernels for cell in kernel.cells if cell.level == level.name]
        return level.verdict == DISABLED and all(cell.by == ENTRY for cell in cells)

    def copies(self) -> Iterator[tuple[KernelRow, Cell]]:
        """Yield each built cell with its kernel: kernel by kernel, lowest level first.

        A shim is yielded as one more copy of its kernel.
        """
        for kernel in self.kernels:
            for cell in kernel.cells:
                if cell.copy:
                    yield kernel, cell
                if cell.shim:
                    yield kernel, replace(cell, copy=cell.shim, shim="")

    def shims(self) -> frozenset[str]:
        """Return the file names of the shims."""
        return frozenset(cell.shim for kernel in self.kernels for cell in kernel.cells if cell.shim)


@dataclass(frozen=True)
class Limit:
    """The `reason` why only the lowest level is built, "" if every level is tried.

    If objects are `opaque`, isagen does not read them: nothing is sealed or audited, and the build searches their
    bytes for registrations. A `foreign` compiler is one that isagen does not know: isagen uses no option or
    extension that only some compilers have.
    """

    reason: str = ""
    opaque: bool = False
    foreign: bool = False


@dataclass(frozen=True)
class Sealing:
    """How levels are sealed, or the `reason` why they are not.

    Sealed names end in the `project_number`, so that the names of two projects differ. With `fold`, copies that
    have the same code at several levels are linked once (`build.fold`).
    """

    project_number: str = ""
    reason: str = ""
    fold: bool = False

    @property
    def active(self) -> bool:
        """Whether levels are sealed."""
        return not self.reason


@dataclass(frozen=True)
class LinkAudit:
    """The audit of links. `how` describes for people how links are audited, or why they are not.

    `linkers` maps names of linkers to their paths: the compiler calls a script of isagen in place of each. `mode` is
    error, warn or off.
    """

    mode: str = "off"
    how: str = ""
    linkers: Mapping[str, str] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """Whether every link of the kernels is audited."""
        return bool(self.linkers)

    @property
    def of_targets(self) -> bool:
        """Whether links of the targets in isa_links are audited, and no others."""
        return self.how == BY_TARGETS


@dataclass(frozen=True)
class CompilerUse(MatrixCompiler):
    """A compiler of the build, with its command and the project's arguments for it."""

    command: tuple[str, ...]
    args: tuple[str, ...]


@dataclass(frozen=True)
class Build:
    """A configured build: its plan and its settings. `isagen` is the version of isagen that configured the build.

    `known_bugs` maps each known bug of a compiler to the built levels that it affects.
    """

    isagen: str
    plan: Plan
    compilers: Mapping[str, CompilerUse]
    optimization: str
    lto: bool
    cpu_family: str
    system: str
    sealing: Sealing
    link_audit: LinkAudit
    record: Record
    limit: Limit = Limit()
    known_bugs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def dispatch_language(self) -> str:
        """The Meson language of the sources that dispatch the kernels: "cpp" if `compilers` has it, or "c"."""
        return "cpp" if "cpp" in self.compilers else "c"

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of generated sources that need no compiled kernel: the dispatch source, and a module's front.

        A front is the part of a whole module that Python imports; it opens the private module of a level.
        """
        kernel_set, language = self.plan.kernel_set, self.dispatch_language
        fronts = [front_name(kernel_set, language)] if self.plan.module and self.sealing.active else []
        return dispatch_name(kernel_set, language), *fronts
