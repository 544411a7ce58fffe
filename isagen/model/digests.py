"""Digests of code and data."""

from __future__ import annotations

from hashlib import blake2b as blake2b


def digest_of(content: bytes) -> str:
    """Return a digest of a text, to compare it later."""
    return blake2b(content, digest_size=16).hexdigest()
