"""The basis of judgement of a file: the records of its builds, and the baseline that the user asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from ..binary.formats import demangle
from ..binary.protocol import Binary
from ..model.errors import AuditError
from ..model.plan import Build
from ..model.record import NOTE_OWNER, Record, record_from_json
from ..processors.instruction_sets import InstructionSets
from ..processors.instructions import normal
from .findings import Result


@dataclass(frozen=True)
class Baseline:
    """The CPUs that a file without a record must run on: the name of a level, and its features.

    `everywhere`: it limits the baseline of files with a record too.
    """

    name: str
    features: tuple[str, ...]
    everywhere: bool = False

    def narrow(self, record: Record) -> Record:
        """Return a record, narrowed to the baseline."""
        if not self.everywhere:
            return record
        return replace(record, baseline=tuple(name for name in record.baseline if name in self.features))

    def note(self, result: Result) -> Result:
        """Return the result of a file with a record, with a note of what it was judged by."""
        said = f"code outside the levels was judged by what both {self.name} and the baseline of its build have"
        return replace(result, notes=(*result.notes, said)) if self.everywhere else result


def records_of(binary: Binary) -> list[Record]:
    """Return the records in a file: one for each project of isagen that is linked into it."""
    return [record_from_json(text, binary.shown) for text in binary.notes(NOTE_OWNER)]


def records_of_build(build: Build) -> list[Record]:
    """Return the records that files of a build may hold: its own, and those of a whole module's private modules."""
    levels = build.record.levels if build.plan.module else ()
    return [build.record, *map(build.record.of_module, levels)]


def merge(records: Sequence[Record]) -> Record:
    """Return one record for a file with several, with the guarantees that all have."""
    first = records[0]
    if len(records) == 1:
        return first
    # A private module is opened by its front alone: all that is linked into it may use what its level has.
    judging = [record for record in records if record.module] or records
    baseline = frozenset(judging[0].outside).intersection(*(record.outside for record in judging))
    levels: dict[str, tuple[str, ...]] = {}
    for record in [record for record in records if not record.module] or records:
        for name, features in record.levels.items():
            levels[name] = tuple(f for f in features if name not in levels or f in levels[name])
    return replace(
        first,
        project=" and ".join(record.project for record in records),
        sealed=all(record.sealed for record in records),
        seal_reason=next((record.seal_reason for record in records if record.seal_reason), ""),
        baseline=tuple(sorted(baseline)),
        levels=levels,
        allow=tuple(entry for record in records for entry in record.allow),
        module=judging[0].module,
    )


def check_levels(records: Sequence[Record], result: Result) -> None:
    """Raise `AuditError` where code is found to use what only some of the projects check at its level.

    Levels of one name have one section, so that it is judged by what all projects check there.
    """
    for one in (one for one in result.findings if one.kind == "level"):
        found = [record for record in records if one.level in record.levels]
        for here, there in permutations(found, 2):
            more = [name for name in here.levels[one.level] if name not in there.levels[one.level]]
            if not set(one.features).isdisjoint(more):
                raise AuditError(
                    f"{one.level} of project {here.project} has {' '.join(more)}, which {one.level} of project "
                    f"{there.project} lacks; {demangle(one.symbol)} uses {' '.join(one.features)}",
                    where=result.target,
                    remedy="give the level the same features in the tables of both projects, or two names",
                )


def judged_by(record: Record, sets: InstructionSets) -> str:
    """Return by what a build is judged: its levels, and what code outside them may use that not every CPU has."""
    sealed = "sealed" if record.sealed else "not sealed"
    always = frozenset(map(normal, sets.rules.always))
    more = " ".join(name for name in record.outside if normal(name) not in always)
    if record.module:
        whole = f"private module of level {record.module}" + (f", all of it with {more}" if more else "")
        return f"{record.project}, built by isagen {record.isagen}, {whole}"
    levels = f"levels {' '.join(record.levels)}" + (f", everything else with {more}" if more else "")
    return f"{record.project}, built by isagen {record.isagen}, {sealed}, {levels}"
