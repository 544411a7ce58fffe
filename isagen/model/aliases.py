"""Further environment variables that narrow the level at run time: old names of a project's override."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Alias:
    """An environment variable beside the override; the first of them that is set counts.

    `values` maps words, in upper case, to meanings; names of levels are accepted too. With `always`, every value has
    that meaning. A meaning is LEVEL (it and the levels that it requires) or -LEVEL (all but it and those that require
    it).
    """

    variable: str
    values: Mapping[str, str] = field(default_factory=dict)
    always: str = ""

    def meaning(self, value: str) -> str:
        """Return what a value without blanks around it means; the value itself where it may name a level."""
        return self.always or self.values.get(value.upper(), value)

    @property
    def shown(self) -> str:
        """The alias as reports show it."""
        if self.always:
            return f"{self.variable} (set: {self.always})"
        return f"{self.variable}={'|'.join([*(word.lower() for word in self.values), 'LEVEL'])}"
