"""The registrations of kernels in objects of any format, found in their bytes.

Where isagen does not read a build's objects, isa_dispatch.h lets a kernel source that registers a stub define a text
that says so: ``isagen:registers:LEVEL:STUB;`` (`ISA_ANNOUNCE`). Compilers put it into objects as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..model.errors import BuildError
from ..model.plan import Plan
from ..model.registrations import Registrations
from .registrations import Said, copies_of, registrations_of, source_of


def announced_by_kernel(plan: Plan, level: str, objects: Sequence[Path]) -> Registrations:
    """Return what each kernel announces at `level`. Raises `BuildError` where two register one stub, or none does."""
    sources = copies_of(plan, level)
    found = [_said(source_of(path, sources), level, path.read_bytes()) for path in objects]
    if not any(one.registers for one in found):
        raise BuildError(
            "no kernel registers itself",
            where="isa_kernels",
            remedy="end every kernel source with ISA_REGISTER_DISPATCH(stub, &function), outside anonymous namespaces; "
            "in objects for link-time optimisation that cannot be found: compile kernels without it",
        )
    return registrations_of(level, found)


def _said(source: str, level: str, content: bytes) -> Said:
    def texts(what: str) -> tuple[str, ...]:
        found = re.findall(rf"isagen:{what}:{re.escape(level)}:(\w+);".encode(), content)
        return tuple(dict.fromkeys(name.decode() for name in found))

    return Said(source, texts("registers"), texts("without"), {})
