"""Regular expressions that are compiled where they are first used: most steps of a build use none."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    import re


class Pattern:
    """A regular expression; `only_ascii` ones have no other letters and digits."""

    def __init__(self, text: str, only_ascii: bool = False) -> None:
        self._text = text
        self._only_ascii = only_ascii
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The expression, as Python's own."""
        if self._compiled is None:
            import re

            self._compiled = re.compile(self._text, re.ASCII if self._only_ascii else 0)
        return self._compiled

    def match(self, text: str) -> re.Match[str] | None:
        """Return what the start of a text matches."""
        return self.compiled.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return what a whole text matches."""
        return self.compiled.fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        """Return what any part of a text matches."""
        return self.compiled.search(text)

    def sub(self, other: str, text: str) -> str:
        """Return a text with `other` in the place of each match."""
        return self.compiled.sub(other, text)
