"""The record: facts of a build inside its binaries, so that the binaries can be audited without the build folder.

The record is JSON in an ELF note of the owner ``isagen`` or, in other formats, in a section. `strip` and
`--gc-sections` do not remove notes. In ELF, the code of a sealed level is in sections `.isa_text.LEVEL`, which show the
level in stripped files too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from .codec import from_text, to_text
from .errors import AuditError

RECORD_OWNER = "isagen"
# The owners of the notes with the build matrix (`matrix_notes`).
MATRIX_OWNER, LEVEL_OWNER = "isagen.matrix", "isagen.level"
# The format of records. Records of format 1 have no `module`.
RECORD_FORMAT = 2


@dataclass(frozen=True)
class Allowance:
    """An entry of isa.toml's audit.allow: symbols about which the audit reports nothing, and the reason.

    `symbol` is a pattern (``*``, ``?``) of names of functions or variables, mangled or demangled.
    """

    symbol: str
    reason: str


@dataclass(frozen=True)
class Record:
    """The facts of a build that the audit needs.

    Every object of the build may use the `baseline` features. `levels` maps each built level to its features, which the
    generated code checks at run time. `features` names the processor's features file; the table may define features
    beyond it. In the record of a private module, `module` is the module's level; in others, it is "". All of the
    module's code may use the level's features, because the module is opened only after these were checked.
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
        """Return the record as one line of JSON, in which the levels keep their order."""
        return to_text(self, RECORD_FORMAT)

    def of_module(self, level: str) -> Record:
        """Return the record of the private module of a `level`."""
        return replace(self, sealed=True, seal_reason="", levels={level: self.levels[level]}, module=level)

    @property
    def outside(self) -> tuple[str, ...]:
        """The features that code outside levels may use."""
        return tuple(dict.fromkeys((*self.baseline, *self.levels.get(self.module, ()))))

    def needs_only_baseline(self, level: str) -> bool:
        """Return whether a built level needs only features that code outside levels may use."""
        return level in self.levels and set(self.levels[level]).issubset(self.outside)


def matches(name: str, pattern: str) -> bool:
    """Return whether a symbol's name matches a pattern: ``*`` stands for any characters, ``?`` for one."""
    from fnmatch import fnmatchcase  # only here: most builds have no allowances

    return fnmatchcase(name, pattern.replace("[", "[[]"))


def record_from_json(text: bytes | str, shown: str) -> Record:
    """Return the record in a note of the file `shown`. Raises `AuditError` if it is damaged, or of a later isagen."""
    try:
        return from_text(Record, text, 1, RECORD_FORMAT)
    except ValueError as problem:
        remedy = "read it with an isagen as new as the one that built it"
        raise AuditError(f"its record cannot be read: {problem}", where=shown, remedy=remedy) from None
