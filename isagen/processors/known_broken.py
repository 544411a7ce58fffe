"""Reads the known bugs of compilers, [[known_broken]] in a features file or a table."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ..model.toml import Section
from ..model.versions import RANGE, in_range

NOTE, LEAVE_OUT = "note", "leave out"
APPLE = "__apple_build_version__"  # no entry concerns Apple's Clang, because its version numbers differ


@dataclass(frozen=True)
class KnownBroken:
    """A bug of a compiler that may affect code with a `feature`. The fields are keys in TOML.

    If `macro` is given, only compilers that predefine it have the bug. The `effect` "note" shows the bug, and warns if
    a kernel contains one of the `words`; "leave out" makes levels that need the feature unavailable.
    """

    compiler: str
    versions: tuple[str, ...]
    feature: str
    effect: str
    reason: str
    url: str
    words: tuple[str, ...] = ()
    macro: str = ""

    def concerns(self, compiler: str, version: str, macros: Collection[str], features: Collection[str]) -> bool:
        """Return whether a compiler that predefines `macros` has the bug, and code with `features` may be affected."""
        has_bug = (
            compiler == self.compiler
            and APPLE not in macros
            and any(in_range(version, versions) for versions in self.versions)
        )
        return has_bug and self.macro in ("", *macros) and self.feature in features

    @property
    def text(self) -> str:
        """The reason with its source."""
        return f"{self.reason} ({self.url})"


def read_known_broken(entries: Iterable[Section], features: Collection[str]) -> tuple[KnownBroken, ...]:
    """Read entries. Each must be about one of `features`."""
    found = []
    for entry in entries:
        one = entry.record(KnownBroken)
        entry.check("effect", "effect", [one.effect], (NOTE, LEAVE_OUT))
        entry.check("feature", "feature", [one.feature], features)
        for versions in one.versions:
            if not RANGE.match(versions):
                raise entry.fail("versions", f"{versions!r} is not a range of versions", 'write it as in ">=14, <14.4"')
        found.append(one)
    return tuple(found)
