"""Reading JSON without the package `json`, which takes longer to load than a step that does nothing runs."""

from __future__ import annotations

from typing import Any

BLANKS = " \t\n\r"


class _Rules:
    """What the scanner asks for: what `json.loads` takes, which includes NaN."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
    memo: dict[str, str] = {}  # noqa: RUF012  the scanner's own, emptied by it


def read_json(text: str | bytes) -> Any:
    """Return what `json.loads` does. Raises ValueError as that does, and RecursionError where parts are too deep."""
    try:
        content = (text if isinstance(text, str) else text.decode("ascii")).strip(BLANKS)
        from _json import make_scanner  # what `json` scans with, in CPython

        value, end = make_scanner(_Rules)(content, 0)  # type: ignore[arg-type]
        if end == len(content):
            return value
    except (ImportError, StopIteration, ValueError):
        pass
    import json  # which tells encodings, and says what is wrong

    return json.loads(text)
