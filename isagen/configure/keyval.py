"""Writing the file that the Meson fragment reads with its keyval module: one KEY=VALUE a line, values are lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Between the items of a list: in the file, and in arguments of the fragment.
SEPARATOR = "\x01"
# keyval drops what follows a '#', and reads line by line. The fragment undoes these.
CODES = {"#": "\x02", "\n": "\x03"}
# keyval also trims values.
SPACE = "\x04"


def write_keyval(values: Mapping[str, str | Iterable[str]]) -> str:
    """Return the file's text. A text is a list of one item."""
    lines = []
    for key, value in values.items():
        text = value if isinstance(value, str) else SEPARATOR.join(value)
        for character, code in CODES.items():
            text = text.replace(character, code)
        if text != text.strip():
            text = text.replace(" ", SPACE)
        lines.append(f"{key}={text}\n")
    return "".join(lines)
