"""The record: what a build notes about itself inside its binaries, so that they can be audited anywhere.

It is an ELF note of owner ``isagen``; its text is JSON. Notes survive `strip` and `--gc-sections`. Code of a sealed
level is in sections called `.isa_text.LEVEL`, so that record and code fit together in a stripped file too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .codec import from_data
from .errors import AuditError

NOTE_OWNER = "isagen"
# Of the matrix as configuring planned it, and of what the objects of one level hold: compressed JSON.
MATRIX_OWNER, LEVEL_OWNER = "isagen.matrix", "isagen.level"
# The second is that of the records of private modules, which readers of the first do not know.
RECORD_FORMAT, MODULE_FORMAT = 1, 2


@dataclass(frozen=True)
class Allowance:
    """An entry of isa.toml's audit.allow: functions that may use what they use, and why.

    `symbol` is a pattern (``*``, ``?``) over symbols as the linker sees them, or as C++ writes them.
    """

    symbol: str
    reason: str


@dataclass(frozen=True)
class Record:
    """The facts of a build that the audit needs.

    `baseline` are the features that every object of the build may use, `levels` each built level's (names of the
    features file `features`), which the generated code checks at run time. `module` is the level of a private module,
    all of whose code is of that level: it is opened only after the check.
    """

    project: str
    isagen: str
    table: str
    features: str
    sealed: bool
    seal_reason: str
    baseline: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]]
    allow: tuple[Allowance, ...] = ()
    module: str = ""

    def to_json(self) -> str:
        """Return the record as text, in one line; levels stay in their order."""
        data = asdict(self)
        if not self.module:
            del data["module"]
        return json.dumps({"format": MODULE_FORMAT if self.module else RECORD_FORMAT, **data}, separators=(",", ":"))

    def of_module(self, level: str) -> Record:
        """Return the record of the private module of a `level`."""
        return replace(self, sealed=True, seal_reason="", levels={level: self.levels[level]}, module=level)

    @property
    def outside(self) -> tuple[str, ...]:
        """The features that code may use which is in no level's section."""
        return tuple(dict.fromkeys((*self.baseline, *self.levels.get(self.module, ()))))


def matches(name: str, pattern: str) -> bool:
    """Return whether a symbol's name matches a pattern: ``*`` stands for any characters, ``?`` for one."""
    from fnmatch import fnmatchcase  # most builds allow nothing

    return fnmatchcase(name, pattern.replace("[", "[[]"))


def record_from_json(text: bytes | str, shown: str) -> Record:
    """Read a record. Raises `AuditError` if it is damaged, or of a later isagen."""
    try:
        data: dict[str, Any] = json.loads(text)
        if data.pop("format") != (MODULE_FORMAT if "module" in data else RECORD_FORMAT):
            raise AuditError(
                "its record was written by another version of isagen",
                where=shown,
                remedy="audit it with an isagen as new as the one that built it",
            )
        return from_data(Record, {"module": "", **data})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        raise AuditError(f"its record is damaged: {problem}", where=shown) from None
