"""Merges the -march of arm64's levels with the project's -march or -mcpu, because compilers use only one of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

MARCH = re.compile(r"-march=armv(\d+)(?:\.(\d+))?-a((?:\+[\w-]+)*)\Z")
MCPU = re.compile(r"-mcpu=(?!native)[\w.-]+(?:\+[\w-]+)*\Z")


def on_baseline(flags: Sequence[str], args: Sequence[str]) -> tuple[str, ...]:
    """Return a level's flags, with their -march merged into the project's last -march, or else its last -mcpu.

    The result names the newer of the two architectures, or the project's CPU, and the extensions of both options: the
    level's -march alone would remove the project's extensions, and GCC warns if -march and -mcpu conflict. The level's
    -march stays as it is if the project has neither option, or if its option has another form than MARCH and MCPU.
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
