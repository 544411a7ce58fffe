"""The registrations of kernels in objects of any format, found in their bytes.

Where isagen does not read a build's objects, isa_dispatch.h lets a kernel source that registers a stub define a text
that says so: ``isagen:registers:LEVEL:STUB;`` (`ISA_ANNOUNCE`). Compilers put it into objects as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..model.errors import BuildError
from ..model.registrations import Registrations
from .registrations import Said, registrations_of

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from ..model.files import AnyPath


def announced(level: str, objects: Iterable[tuple[AnyPath, str]]) -> Registrations:
    """Return what the objects, each with its kernel source, announce at `level`.

    Raises `BuildError` where two register one stub, or none does.
    """
    found = [_said(source, level, _content(path)) for path, source in objects]
    if not any(one.registers for one in found):
        raise BuildError(
            "no kernel registers itself",
            where="isa_kernels",
            remedy="end every kernel source with ISA_REGISTER_DISPATCH(stub, &function), outside anonymous namespaces; "
            "in objects for link-time optimisation that cannot be found: compile kernels without it",
        )
    return registrations_of(level, found)


def _content(path: AnyPath) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _said(source: str, level: str, content: bytes) -> Said:
    def texts(what: str) -> tuple[str, ...]:
        found = re.findall(rf"isagen:{what}:{re.escape(level)}:(\w+);".encode(), content)
        return tuple(dict.fromkeys(name.decode() for name in found))

    return Said(source, texts("registers"), texts("without"), {})
