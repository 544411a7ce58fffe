"""Writing the file that the Meson fragment reads with its keyval module: one KEY=VALUE a line, values are lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# keyval drops what follows a '#', trims values, and knows no quoting. The fragment undoes these, the first one last.
ESCAPES = (("%", "%25"), ("|", "%7C"), ("#", "%23"), (" ", "%20"), ("\n", "%0A"))


def escape(value: str) -> str:
    """Return `value` without the characters that mean something in the file."""
    for character, code in ESCAPES:
        value = value.replace(character, code)
    return value


def write_keyval(values: Mapping[str, str | Iterable[str]]) -> str:
    """Return the file's text. A list becomes its escaped items, parted by ``|``."""
    lines = []
    for key, value in values.items():
        items = [value] if isinstance(value, str) else list(value)
        text = "|".join(items)
        plain = text == text.strip() and not any(character in text for character in "%#\n")
        if not plain or text.count("|") >= len(items):  # the fragment takes long to undo escapes
            text = "|".join(map(escape, items))
        lines.append(f"{key}={text}\n")
    return "".join(lines)
