"""Flags of arm64's levels: one -march or -mcpu names the architecture with all extensions, and the last one counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARCH = re.compile(r"-march=armv(\d+)(?:\.(\d+))?-a((?:\+[\w-]+)*)\Z")
MCPU = re.compile(r"-mcpu=(?!native)[\w.-]+(?:\+[\w-]+)*\Z")


def on_baseline(flags: Sequence[str], args: Sequence[str]) -> tuple[str, ...]:
    """Return a level's flags with the architecture or CPU that the project's arguments name, if they name a newer one.

    Otherwise the level's -march would take the baseline's extensions away, and GCC refuses -march beside -mcpu.
    """
    project = next((arg for arg in reversed(args) if arg.startswith("-march=")), "")
    project = project or next((arg for arg in reversed(args) if arg.startswith("-mcpu=")), "")
    return tuple(_joined(flag, project) for flag in flags)


def _joined(flag: str, project: str) -> str:
    own, march = MARCH.match(flag), MARCH.match(project)
    if own is None:
        return flag
    if MCPU.match(project):
        return project + own[3]
    if march is None:
        return flag
    newest = max(own, march, key=lambda found: (int(found[1]), int(found[2] or 0)))
    return newest[0].removesuffix(newest[3]) + march[3] + own[3]
