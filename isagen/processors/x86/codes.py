"""The codes of instructions, to count them: without the decoder's tables, which take longer to load."""

from __future__ import annotations

from operator import attrgetter

from .iced import iced_x86

TYPE_CHECKING = False  # as in typing
if TYPE_CHECKING:
    from collections.abc import Iterator

CODE = attrgetter("code")


def codes_in(raw: bytes) -> Iterator[int]:
    """Yield the codes of the instructions in `raw`. Raises ImportError where iced-x86 is not installed."""
    if iced_x86 is None:
        raise ImportError("there is no iced_x86")
    return map(CODE, iced_x86.Decoder(64, raw))
