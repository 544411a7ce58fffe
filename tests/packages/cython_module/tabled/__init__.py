"""Windowed sums with a cached table, and counts: each module is built once per CPU level."""

from . import _counts, _shared, _windows

__all__ = ["_counts", "_shared", "_windows"]
