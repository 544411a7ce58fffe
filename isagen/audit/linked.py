"""Auditing what a build linked: its record, its plan and its objects together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..binary.protocol import Binary
from ..model.record import NOTE_OWNER, Record, record_from_json
from ..processors.features import features_of
from ..processors.x86.instructions import InstructionSets
from .findings import Result
from .objects import Objects
from .rules import audit_record, audit_unsealed


def records_of(binary: Binary) -> list[Record]:
    """Return the records in a file: one for each project of isagen that is linked into it."""
    return [record_from_json(text, binary.shown) for text in binary.notes(NOTE_OWNER)]


def merge(records: Sequence[Record]) -> Record:
    """Return one record for a file with several: what all of them guarantee."""
    first = records[0]
    if len(records) == 1:
        return first
    baseline = frozenset(first.baseline).intersection(*(record.baseline for record in records))
    levels: dict[str, tuple[str, ...]] = {}
    for record in records:
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
    )


def audit_linked(binary: Binary, records: Sequence[Record], objects: Objects | None) -> Result:
    """Audit a linked file by its records, and by the objects that it came from, where they are at hand."""
    record = merge(records)
    sets = InstructionSets(features_of(record))
    if not record.sealed and objects is not None:
        return audit_unsealed(binary, record, sets, objects)
    if objects is None:
        return audit_record(binary, record, sets)
    return audit_record(binary, record, sets, objects.origin)
