"""The plan: kernels x levels, each cell with flags, verdict and reason; and the build that it is made for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from .aliases import Alias
from .languages import can_be_included
from .names import dispatch_name, front_name
from .record import Record

# The verdicts of a cell: compiled, not possible with the compiler, or not wanted by project, packager or baseline.
BUILT, UNAVAILABLE, DISABLED = "built", "unavailable", "disabled"


@dataclass(frozen=True)
class Verdict:
    """The result of probing one level with the compiler of one language.

    `flags` are the level's flags without the `dropped` ones (flag, reason). `features` are all that must be checked at
    run time: the level's own, those of the levels below, and those whose macro is predefined under `flags`.
    """

    available: bool
    reason: str
    flags: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One kernel at one level: `verdict` is built, unavailable or disabled, `copy` the emitted file's name if built.

    `shim` is the name of the C source that registers the copy, where the copy cannot do so itself.
    """

    level: str
    verdict: str
    reason: str
    flags: tuple[str, ...] = ()
    copy: str = ""
    shim: str = ""


@dataclass(frozen=True)
class KernelRow:
    """One kernel source (path from the project's root) with its cells, lowest level first.

    `shown_path` is the path from the build folder's root, which compiler messages and debuggers show. The build makes a
    `generated` source. `registers` maps stubs to functions that isagen registers after it includes `header`.
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
        """Whether copies include the source; others contain its text, and are written again when it changes."""
        return not self.generated and can_be_included(self.shown_path)


@dataclass(frozen=True)
class LevelRow:
    """One level: its verdict for the whole build, its flags and closure by language, and the macros that it defines.

    `added` are those of its features that only its flags turn on: neither the table nor a level below names them.
    """

    name: str
    rank: int
    verdict: str
    reason: str
    below: tuple[str, ...]
    features: tuple[str, ...]
    flags: Mapping[str, tuple[str, ...]]
    macros: tuple[str, ...]
    dropped: Mapping[str, tuple[tuple[str, str], ...]]
    added: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """Copies that are compiled with the same arguments: one Meson static library."""

    name: str
    level: str
    copies: tuple[str, ...]
    args: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Plan:
    """The whole plan of one set of kernels; `kernel_set` is its name, "" in a project that has only one.

    `override` is the variable that narrows the level, and `aliases` are others. `module` is the name of the extension
    module that the kernels are, as a whole; "" for kernels behind stubs.
    """

    table: str
    override: str
    levels: tuple[LevelRow, ...]
    kernels: tuple[KernelRow, ...]
    units: tuple[Unit, ...]
    kernel_set: str = ""
    aliases: tuple[Alias, ...] = ()
    module: str = ""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables that narrow the level, the first of highest priority."""
        return tuple(name for name in (self.override, *(alias.variable for alias in self.aliases)) if name)

    def built_levels(self) -> tuple[str, ...]:
        """Return the levels that have copies, lowest first."""
        found = {unit.level for unit in self.units}
        return tuple(level.name for level in self.levels if level.name in found)

    def copies(self) -> Iterator[tuple[KernelRow, Cell]]:
        """Yield the cells that are built, each with its kernel: kernel by kernel, lowest level first.

        A shim is one more copy of its kernel.
        """
        for kernel in self.kernels:
            for cell in kernel.cells:
                if cell.copy:
                    yield kernel, cell
                if cell.shim:
                    yield kernel, replace(cell, copy=cell.shim, shim="")

    def shims(self) -> frozenset[str]:
        """Return the file names of the copies that only register others."""
        return frozenset(cell.shim for kernel in self.kernels for cell in kernel.cells if cell.shim)


@dataclass(frozen=True)
class Limit:
    """The reason why only the lowest level is built; empty where every level is tried.

    If objects are `opaque`, isagen cannot read them: nothing is sealed or audited, and the build searches their bytes
    for registrations. For a `foreign` compiler, only options and extensions of all compilers are used.
    """

    reason: str = ""
    opaque: bool = False
    foreign: bool = False


@dataclass(frozen=True)
class Sealing:
    """How levels are sealed, or the `reason` why they are not.

    Sealed names end in the `project_number`, so that those of two projects differ. If levels `fold`, a copy with the
    same code as at a lower level is not linked.
    """

    project_number: str = ""
    reason: str = ""
    fold: bool = False

    @property
    def usable(self) -> bool:
        """Whether levels are sealed."""
        return not self.reason


@dataclass(frozen=True)
class LinkAudit:
    """How links are audited, in words for people (`how`), or the reason why they are not.

    `linkers` are the linkers whose places scripts take, paths by name. `mode` is error, warn, off or unreached.
    """

    mode: str = "off"
    how: str = ""
    linkers: Mapping[str, str] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        """Whether every link of the kernels is audited."""
        return bool(self.linkers)


@dataclass(frozen=True)
class CompilerUse:
    """A compiler of the build: Meson's id, its version, its command, and the project's arguments. `name` is for
    messages.
    """

    id: str
    version: str
    name: str
    command: tuple[str, ...]
    args: tuple[str, ...]


@dataclass(frozen=True)
class Build:
    """A configured build: the plan, and what it was made for. `isagen` is the version that configured it."""

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

    @property
    def dispatch_language(self) -> str:
        """The Meson language of the sources that dispatch the kernels: "cpp" where one of them is C++, or "c"."""
        return "cpp" if "cpp" in self.compilers else "c"

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources that need no compiled kernel: of dispatch, and of a whole module's front."""
        of_set = self.plan.kernel_set, self.dispatch_language
        has_front = self.plan.module and self.sealing.usable
        return (dispatch_name(*of_set), front_name(*of_set)) if has_front else (dispatch_name(*of_set),)
