"""The baseline that a file without a record is judged by, or that files with one must keep to as well."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..model.record import Record
from .findings import Result


@dataclass(frozen=True)
class Baseline:
    """The CPUs that a file without a record must run on: the name of a level, and its features.

    `everywhere`: files with a record have to keep to it too, where their own baseline has more.
    """

    name: str
    features: tuple[str, ...]
    everywhere: bool = False

    def narrow(self, record: Record) -> Record:
        """Return a record by which its build is judged."""
        if not self.everywhere:
            return record
        return replace(record, baseline=tuple(name for name in record.baseline if name in self.features))

    def note(self, result: Result) -> Result:
        """Return the result of a file with a record, with a note of what it was judged by."""
        said = f"code outside the levels was judged by what both {self.name} and the baseline of its build have"
        return replace(result, notes=(*result.notes, said)) if self.everywhere else result
