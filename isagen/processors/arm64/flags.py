"""Flags of arm64's levels. The last -march or -mcpu replaces all others, so it must name all extensions."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARCH = re.compile(r"-march=armv(\d+)(?:\.(\d+))?-a((?:\+[\w-]+)*)\Z")
MCPU = re.compile(r"-mcpu=(?!native)[\w.-]+(?:\+[\w-]+)*\Z")


def on_baseline(flags: Sequence[str], args: Sequence[str]) -> tuple[str, ...]:
    """Return a level's flags, with its -march merged into the project's -mcpu, or else with the project's -march.

    Two values of -march are merged to the newer architecture with the extensions of both. Otherwise the level's -march
    would remove the baseline's extensions. GCC warns if -march and -mcpu conflict.
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
