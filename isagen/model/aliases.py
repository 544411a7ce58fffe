"""Aliases: environment variables that narrow the level at run time, as a project's override variable does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Alias:
    """An environment variable that narrows the level; the first that is set counts, the override before the aliases.

    `values` maps words in upper case to meanings; a value may also be the name of a level. If `always` is set, every
    value has that meaning. The meaning LEVEL allows this level and the levels that it requires; -LEVEL allows all but
    this level and the levels that require it.
    """

    variable: str
    values: Mapping[str, str] = field(default_factory=dict)
    always: str = ""

    def meaning(self, value: str) -> str:
        """Return the meaning of a value without blanks around it; a word that is not in `values` is its own meaning."""
        return self.always or self.values.get(value.upper(), value)

    @property
    def shown(self) -> str:
        """The variable and its words, for reports."""
        if self.always:
            return f"{self.variable} (set: {self.always})"
        return f"{self.variable}={'|'.join([*(word.lower() for word in self.values), 'LEVEL'])}"
