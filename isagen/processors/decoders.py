"""Which decoder reads a binary's code: one line for each kind of code that is decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from ..binary.protocol import Architecture
from ..model.errors import AuditError
from .decoding import Decoder


def _x86() -> Decoder:
    from .x86.decoder import X86Decoder

    return X86Decoder()


# By binary format, the format's number for the processor, word size and byte order.
DECODERS: Mapping[tuple[str, int, int, str], Callable[[], Decoder]] = {
    ("elf", 62, 64, "little"): _x86,
}


def is_decoded(architecture: Architecture) -> bool:
    """Return whether code for an architecture is decoded."""
    return _key(architecture) in DECODERS


def decoder_of(architecture: Architecture | None, shown: str) -> Decoder:
    """Return the decoder for the code of a file, which messages name `shown`.

    Raises `AuditError` where there is none, or where the library that it needs is not installed.
    """
    if architecture is None:
        raise AuditError("does not say which processor it is for", where=shown)
    if not is_decoded(architecture):
        raise AuditError(f"code for {architecture.shown} is not decoded", where=shown, remedy=f"only {decoded()} is")
    return DECODERS[_key(architecture)]()


def decoded() -> str:
    """Return what is decoded, for messages."""
    return "x86-64"


def decoder_library() -> ModuleType | None:
    """Return the library that decoding needs, or None where it is not installed."""
    from .x86.instructions import iced_x86

    return iced_x86


def _key(architecture: Architecture) -> tuple[str, int, int, str]:
    return architecture.format, architecture.machine, architecture.bits, architecture.order
