"""Versions of compilers and other tools: their order, and ranges of versions."""

from __future__ import annotations

import re

# ">=14, <14.4"; either bound may be missing.
RANGE = re.compile(r"(?=.)(?:>=\s*(\d+(?:\.\d+)*))?(?:(?:(?<=\d),\s*)?<\s*(\d+(?:\.\d+)*))?\Z")


def older(version: str, minimum: str) -> bool:
    """Return whether `version` is below `minimum`, number by number.

    A version with fewer numbers is compared by the numbers that it has: "12-posix" is not below 12.1.
    """
    own, wanted = ([int(number) for number in re.findall(r"\d+", text)] for text in (version, minimum))
    return own < wanted and own != wanted[: len(own)]


def in_range(version: str, versions: str) -> bool:
    """Return whether `version` is in the range `versions`."""
    bounds = RANGE.match(versions)
    first, fixed = bounds.groups() if bounds else (None, None)
    return bool(bounds) and not (first and older(version, first)) and (fixed is None or older(version, fixed))
