"""Protocols and named tuples that load without `typing`, which takes longer to load than the classes that need it.

Type checkers see those of the standard module.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
else:
    from collections import namedtuple

    class Protocol:
        """The base of classes that only say what others have."""

    class _Named(type):
        """Makes a named tuple of each class whose base is `NamedTuple`, as `typing` does."""

        def __new__(cls, name, bases, body):
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            made = namedtuple(name, fields, module=body["__module__"])
            for key, value in body.items():
                if key not in ("__module__", "__qualname__"):
                    setattr(made, key, value)
            made.__qualname__ = body["__qualname__"]
            return made

    class NamedTuple(metaclass=_Named):
        """The base of tuples whose items have names; none has a default."""
