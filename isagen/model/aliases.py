"""Aliases: environment variables that narrow the level at run time, as a project's override variable does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Alias:
    """An environment variable that narrows the level at run time.

    Only the first variable that is set counts: the override variable comes first, then the aliases in their order.
    `values` maps values of the variable, in upper case, to meanings. If `always` is not empty, it is the meaning of
    every value. The meaning LEVEL allows this level and the levels that it requires. The meaning -LEVEL allows all
    levels but this one and those that require it.
    """

    variable: str
    values: Mapping[str, str] = field(default_factory=dict)
    always: str = ""

    def meaning(self, value: str) -> str:
        """Return the meaning of `value`, from which blanks are stripped; a value not in `values` is its own meaning."""
        return self.always or self.values.get(value.upper(), value)

    @property
    def shown(self) -> str:
        """The variable with its possible values, for reports."""
        if self.always:
            return f"{self.variable} (set: {self.always})"
        return f"{self.variable}={'|'.join([*(word.lower() for word in self.values), 'LEVEL'])}"
