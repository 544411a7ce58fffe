"""Flags of arm64's levels: one -march or -mcpu names the architecture with all extensions, and the last one counts."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARCH = re.compile(r"-march=armv(\d+)(?:\.(\d+))?-a((?:\+[\w-]+)*)\Z")
MCPU = re.compile(r"-mcpu=(?!native)[\w.-]+(?:\+[\w-]+)*\Z")


def on_baseline(flags: Sequence[str], args: Sequence[str]) -> tuple[str, ...]:
    """Return a level's flags joined to the project's -mcpu, or to its -march: the newer architecture, all extensions.

    Otherwise the level's -march would take the baseline's extensions away, and GCC warns if -mcpu conflicts with it.
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
