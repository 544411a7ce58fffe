"""Channel shuffles of items of any dtype of 1, 2, 4 or 8 bytes."""

from __future__ import annotations

from . import _core
from ._dtypes import Array


def channel_shuffle(
    src: Array, groups: int, *, channels_last: bool = False, out: Array = None, threads: int | None = None
) -> Array:
    """Return `src` with its channels in another order: channel j of group g moves to position j * groups + g.

    Channels are the second axis, [images, channels, ...], or, if `channels_last`, the last one. The result is that of
    reshaping the channels to [groups, channels per group] and transposing, and has the shape and dtype of `src`. Raises
    ValueError if `groups` does not divide the number of channels. The dtype of `out` is that of `src`, or an unsigned
    integer of its size.
    """
    return _core.channel_shuffle(src, out, groups, channels_last, threads)


def concat_channel_shuffle(a: Array, b: Array, *, out: Array = None, threads: int | None = None) -> Array:
    """Return the concatenation of `a` and `b` along the last axis, shuffled in two groups: ShuffleNet's unit, fused.

    Channels are the last axis. `a` and `b` have the same shape and dtype, and may be halves of a wider array: their
    rows must have no gaps, and lie at equal distances. The result has twice as many channels.
    """
    return _core.concat_channel_shuffle(a, b, out, threads)
