"""Campaigns: building, running and judging many random projects, and counting the outcomes."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from support.cross import Target
from support.levels import lacks

from .bases import Base, make_base
from .building import BUILT, FOUND, Built, build
from .generator import Choices, Random, random_project
from .ingredients import ASSUMED, HOSTILE, Ingredient
from .running import Emulated, EmulatorError, Run, Stepping, Tracer, phases_of, run
from .systems import System

COMPILERS = ("g++", "clang++-16")
LINKERS = ("bfd", "gold", "lld", "mold")
ONLY_X86 = ("-fcf-protection=full",)
ELSEWHERE = {"aarch64": ("-mbranch-protection=standard",)}  # by family
# Outcomes besides those of building: it ran soundly; a level's code ran elsewhere; the program failed; something is
# found in a project that is sound by construction.
SOUND, BROKEN, DIED, FALSE, UNPROVEN, KEPT = "sound", "BROKEN", "DIED", "FALSE FINDING", "unproven", "assumed"
EMULATOR = "qemu failed"
FAILURES = (BROKEN, DIED, FALSE)
# With it, all levels and compilers compute the same numbers.
EXACT = ("-ffp-contract=off",)


@dataclass(frozen=True)
class Outcome:
    """What became of a project."""

    project: Random
    outcome: str
    built: Built
    run: Run | None
    detail: str

    @property
    def failed(self) -> bool:
        """Whether the project must not have had this outcome."""
        return self.outcome in FAILURES


class Machine:
    """The compilers, linkers and levels at hand, and the tracer."""

    def __init__(self, folder: Path, target: Target | None = None, cpu: str = "", system: System | None = None) -> None:
        """A `target` is emulated; its `cpu` is one with all levels. A `system` runs on this machine's CPU."""
        self.folder, self.family = folder, target.family if target is not None else ""
        self.tracer: Tracer = Stepping(folder, system) if target is None else Emulated(target.emulated(cpu))
        compilers = (system.platform.system,) if system else tuple(filter(shutil.which, COMPILERS))
        self.bases: dict[str, Base] = {name: make_base(folder, name, target, system) for name in compilers}
        base = next(iter(self.bases.values()))
        linkers = tuple(name for name in LINKERS if f"ld.{name}" in base.build.link_audit.linkers)
        levels, replaced, more = base.levels, {}, {}
        if target is not None:
            replaced = {ONLY_X86: ELSEWHERE.get(target.family, ())}
            levels = tuple(level for level in levels if level not in target.unreported)
            linkers = tuple(name for name in linkers if name in target.linkers)
        else:
            if system is not None:
                linkers, replaced = ("the compiler's own",), system.replaced
                more = {"kinds": frozenset(system.links), "always": EXACT}
            run_here = [level.name for level in base.build.plan.levels if not lacks(level.features)]
            levels = tuple(level for level in base.levels if level in run_here)
        self.choices = Choices(compilers, linkers, levels, replaced, **more)

    def outcome(self, project: Random, folder: Path, audit: str = "error", sealed: bool = True) -> Outcome:
        """Build and run a project in `folder`."""
        base = self.bases[project.compiler]
        built = build(base, project, folder, audit, sealed)
        expected = {one.expected for one in project.ingredients}
        if built.result != BUILT:
            outcome = built.result if expected & {HOSTILE, ASSUMED} else FALSE
            if built.result == FOUND and set(built.kinds) == {"unproven"}:
                outcome = UNPROVEN
            return Outcome(project, outcome, built, None, built.said[-3000:])
        phases = phases_of(base.build, self.choices.levels, built.stubs)
        try:
            done = run(self.tracer, base.build, built.output, built.program, project.lowest, phases)
        except EmulatorError as problem:
            return Outcome(project, EMULATOR, built, None, str(problem))
        outcome = SOUND
        if done.crossings:
            outcome = KEPT if ASSUMED in expected else BROKEN
        elif done.ended != "exit 0":
            outcome = DIED
        return Outcome(project, outcome, built, done, "\n".join(map(str, done.crossings[:8])) or done.ended)

    def result(self, project: Random) -> str:
        """Return the number that the sources of another machine's project compute here."""
        tools = {"compiler": self.choices.compilers[0], "linker": self.choices.linkers[0]}
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            made = self.outcome(replace(project, link_args=(), **tools), Path(name), "off")
        assert made.run is not None, made.detail
        return made.run.result

    def campaign(
        self,
        seeds: Sequence[int],
        keep: Path | None = None,
        hostile: Sequence[Ingredient] | None = None,
        *,
        benign: bool = False,
    ) -> Iterator[Outcome]:
        """Yield the outcomes of the projects of `seeds`; the folders of failures are kept below `keep`."""
        for seed in seeds:
            project = random_project(seed, self.choices, hostile, benign=benign)
            with tempfile.TemporaryDirectory(prefix="random-", dir=self.folder) as name:
                outcome = self.outcome(project, Path(name))
                if outcome.failed and keep is not None:
                    kept = keep / f"{outcome.outcome.replace(' ', '-')}-{seed}"
                    shutil.rmtree(kept, ignore_errors=True)
                    shutil.copytree(name, kept, symlinks=True)
                    kept.joinpath("what.txt").write_text(f"{project.described}\n{outcome.detail}\n")
            yield outcome


def table(outcomes: Sequence[Outcome]) -> str:
    """Return how often each ingredient that is not benign had each outcome."""
    rows: dict[str, Counter[str]] = {}
    for one in outcomes:
        names = [i.name for i in one.project.ingredients if i.expected in (HOSTILE, ASSUMED)]
        name = " + ".join(sorted(names)) if len(names) < 2 else "two of these"
        rows.setdefault(name or "(none)", Counter())[one.outcome] += 1
    return "\n".join(
        f"{name:60} " + ", ".join(f"{outcome} {count}" for outcome, count in sorted(found.items()))
        for name, found in sorted(rows.items())
    )
