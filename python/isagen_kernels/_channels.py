"""Channel shuffles of items of any dtype of 1, 2, 4 or 8 bytes."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arrays import format_of, is_numpy, new, view_of


def _like(src: Any, view: Any, shape: tuple[int, ...]) -> Any:
    return new(src, shape, view.format, src.dtype) if is_numpy(src) else new(src, shape, _movable(view))


def _movable(view: Any) -> str:
    """Return a format that memoryviews can be cast to: the view's own, or integers of its width."""
    code = format_of(view)
    castable = len(code) == 1 and code in "?cbBhHiIlLqQnNfdP"
    return code if castable else {2: "H", 4: "I", 8: "Q"}.get(view.itemsize, "B")


def channel_shuffle(
    src: Any, groups: int, *, channels_last: bool = False, out: Any = None, threads: int | None = None
) -> Any:
    """Return `src` with its channels in another order: channel j of group g moves to position j * groups + g.

    Channels are the second axis, [images, channels, ...], or the last one. The result is that of reshaping the channels
    to [groups, channels per group] and transposing. Raises ValueError if `groups` does not divide the channels. `out`
    holds items of the same type, or unsigned integers for their bits.
    """
    view = view_of(src, "src")
    if out is None:
        out = _like(src, view, view.shape)
    _core.channel_shuffle(src, out, groups, channels_last, threads)
    return out


def concat_channel_shuffle(a: Any, b: Any, *, out: Any = None, threads: int | None = None) -> Any:
    """Return the concatenation of `a` and `b` along the last axis, shuffled in two groups: ShuffleNet's unit, fused.

    Channels are the last axis. `a` and `b` have the same shape, and may be halves of a wider array: rows must have no
    gaps, and lie at equal distances.
    """
    view = view_of(a, "a")
    if out is None:
        shape = view.shape
        out = _like(a, view, (*shape[:-1], 2 * shape[-1]) if shape else (2,))
    _core.concat_channel_shuffle(a, b, out, threads)
    return out
