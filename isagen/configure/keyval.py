"""Writing the answer for Meson's keyval module, by which the fragment reads it: lines KEY=VALUE; values are lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Separates the items of a list, in the answer and in the fragment's arguments.
SEPARATOR = "\x01"
# The codes of characters that keyval does not accept in values: it drops the text after a '#', and reads line by line.
# The fragment decodes them.
CODES = {"#": "\x02", "\n": "\x03"}
# The code of a space: keyval trims values.
SPACE = "\x04"


def keyval_text(values: Mapping[str, str | Iterable[str]]) -> str:
    """Return the answer's text. A string is a list of one item."""
    lines = []
    for key, value in values.items():
        text = value if isinstance(value, str) else SEPARATOR.join(value)
        for character, code in CODES.items():
            text = text.replace(character, code)
        if text != text.strip():
            text = text.replace(" ", SPACE)
        lines.append(f"{key}={text}\n")
    return "".join(lines)
