"""Writes and reads notes in ELF's form: an owner and a text. `strip` and `--gc-sections` do not remove notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

TYPE = 1
BYTES_IN_LINE = 32


def note_of(owner: str, text: bytes, order: Literal["little", "big"] = "little") -> bytes:
    """Return a note: its sizes and type, then the owner and the text, each padded to 4 bytes."""
    words, content = _parts(owner, text)
    return b"".join(number.to_bytes(4, order) for number in words) + content


def note_text(owner: str, text: bytes) -> str:
    """Return a note as elements of a C array. ISA_NOTE_WORD (`record.c.j2`) gives a word the target's byte order."""
    words, content = _parts(owner, text)
    return f"  {', '.join(f'ISA_NOTE_WORD({number}u)' for number in words)},\n{array_text(content)}"


def _parts(owner: str, text: bytes) -> tuple[tuple[int, int, int], bytes]:
    """Return the words at the start of a note, and the bytes after them."""
    parts = owner.encode() + b"\0", text
    return (len(parts[0]), len(parts[1]), TYPE), b"".join(part + b"\0" * (-len(part) % 4) for part in parts)


def array_text(content: bytes) -> str:
    """Return bytes as the elements of a C array, not as a string literal, whose length C limits."""
    lines = (content[start : start + BYTES_IN_LINE] for start in range(0, len(content), BYTES_IN_LINE))
    return "\n".join(f"  {', '.join(map(str, line))}," for line in lines)


def notes_of(raw: bytes, owner: str, order: Literal["little", "big"]) -> Iterator[bytes]:
    """Yield the texts of the notes of `owner` in a section's bytes."""
    place = 0
    while place + 12 <= len(raw):
        name_size, size = (int.from_bytes(raw[at : at + 4], order) for at in (place, place + 4))
        if not name_size:  # a gap that a linker or a sanitizer leaves between notes
            place += 4
            continue
        name = raw[place + 12 : place + 12 + name_size].rstrip(b"\0")
        start = place + 12 + (name_size + 3) // 4 * 4
        if name == owner.encode():
            yield raw[start : start + size]
        place = start + (size + 3) // 4 * 4
