"""The features that a file is judged by: those in the records of its builds, and the baseline of the user."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..binary.formats import system_of
from ..binary.reader import Binary
from ..model.plan import Build
from ..model.record import Record
from ..processors.features import features_of, read_features
from ..processors.instruction_sets import InstructionSets
from ..processors.instructions import normal_name
from ..processors.registry import decoder_of
from .findings import Finding


@dataclass(frozen=True)
class Baseline:
    """The user's baseline for one processor: its name, and the features that a file without a record may use.

    If `everywhere` is true, the baseline also limits files with a record.
    """

    name: str
    features: tuple[str, ...]
    everywhere: bool = False

    def narrow(self, record: Record) -> Record:
        """Return `record`; if `everywhere` is true, its baseline keeps only the features that are in `features`."""
        if not self.everywhere:
            return record
        return replace(record, baseline=tuple(name for name in record.baseline if name in self.features))

    def beyond(self, records: Iterable[Record]) -> Iterator[Finding]:
        """Yield, if `everywhere`, a finding for each build whose baseline has features that this baseline lacks."""
        for record in records if self.everywhere else ():
            missing = features_of(record.features).not_implied(record.baseline, self.features)
            if missing:
                detail = f"a CPU of {self.name} may lack some of these: loading the file fails there"
                yield Finding("baseline", record.project, detail, features=missing, cause="build")


NO_LIMIT = Baseline("", ())
# The user's baselines, by the name of the processor.
Baselines = Mapping[str, Baseline]


def baseline_of(binary: Binary, baselines: Baselines) -> Baseline:
    """Return the baseline for the processor and the system of a file.

    Features that all CPUs of this system have are added, unless the baseline is `everywhere`. Raises `AuditError` if no
    decoder reads the file's code.
    """
    name = decoder_of(binary.architecture, binary.shown).name
    baseline, system = baselines.get(name, NO_LIMIT), system_of(binary)
    features = read_features(name)
    more = sorted(features.having(features.every_cpu.get(system, ())))
    if not more or baseline.everywhere:
        return baseline
    shown = f"{baseline.name}, with the features of every CPU that runs {system}"
    return replace(baseline, name=shown, features=(*baseline.features, *more))


def records_of_build(build: Build) -> list[Record]:
    """Return the records that files of a build may contain: the build's own, and those of its private modules."""
    levels = build.record.levels if build.plan.module else ()
    return [build.record, *map(build.record.of_module, levels)]


def merge(records: Sequence[Record]) -> Record:
    """Return one record that stands for all `records` of a file.

    Its baseline has the features that every record allows to code outside levels; if some records are of private
    modules, only these records count. For levels, records of private modules count only if there are no others. A
    level gets the features that all of these records that list it give to it.
    """
    first = records[0]
    if len(records) == 1:
        return first
    # A private module is opened only where its level is supported, so all its code may use the level's features.
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


def judged_by(record: Record, sets: InstructionSets) -> str:
    """Return words for the features that a build is judged by: its levels, and what other code may use."""
    always = frozenset(map(normal_name, sets.rules.always))
    more = " ".join(name for name in record.outside if normal_name(name) not in always)
    build = f"{record.project}, built by isagen {record.isagen}"
    if record.module:
        return f"{build}, private module of level {record.module}" + (f", all of it with {more}" if more else "")
    levels = f"{'sealed' if record.sealed else 'not sealed'}, levels {' '.join(record.levels)}"
    return f"{build}, {levels}" + (f", everything else with {more}" if more else "")
