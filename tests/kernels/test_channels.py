"""Channel shuffles against their definition by reshape and transpose."""

import ctypes

import isagen_kernels as k
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from isagen_kernels import _core

from support.arrays import LEVELS, quick, unaligned

DTYPES = ("uint8", "float16", "float32", "int32", "float64", "complex64")


def shuffled(x, groups, axis):
    """The definition of channel shuffle: [groups, per group] -> [per group, groups] along an axis."""
    shape = x.shape
    axis %= x.ndim
    split = x.reshape(*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :])
    return split.swapaxes(axis, axis + 1).reshape(shape)


def numbered(shape, dtype, offset=0):
    x = (np.arange(np.prod(shape, dtype=int)) % 2039).astype(dtype).reshape(shape)
    return unaligned(x, offset)


@st.composite
def shapes(draw):
    groups = draw(st.one_of(st.sampled_from((1, 2, 4, 8, 16, 3)), st.integers(1, 20)))
    channels = groups * draw(st.one_of(st.integers(0, 20), st.sampled_from((32, 29, 64, 128))))
    spatial = draw(st.lists(st.integers(0, 7), max_size=3))
    return draw(st.integers(0, 3)), channels, tuple(spatial), groups


@pytest.mark.smoke
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("cache", [0, 1])
@quick
@given(shape=shapes(), dtype=st.sampled_from(DTYPES), offset=st.sampled_from((0, 1, 8)), data=st.data())
def test_channel_shuffle(level, cache, shape, dtype, offset, data):
    images, channels, spatial, groups = shape
    last = data.draw(st.booleans())
    x = numbered((images, *spatial, channels) if last else (images, channels, *spatial), dtype, offset)
    want = shuffled(x, groups, -1 if last else 1)
    _core.set_last_cache(cache)
    try:
        with k.isa.use(level):
            got = k.channel_shuffle(x, groups, channels_last=last)
            guarded = unaligned(np.full(x.size + 2, 7, dtype), offset)
            k.channel_shuffle(x, groups, channels_last=last, out=guarded[1:-1].reshape(x.shape))
    finally:
        _core.set_last_cache(0)
    assert got.dtype == x.dtype
    assert np.array_equal(got, want)
    assert np.array_equal(guarded[1:-1].reshape(x.shape), want)
    assert guarded[0] == guarded[-1] == np.array(7, dtype)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("groups", [2, 4, 8, 16, 32, 3, 29])
def test_channel_counts_of_every_way(level, groups):
    """Pixels that fit the registers, larger ones, and numbers of groups that are no power of two."""
    with k.isa.use(level):
        for dtype in DTYPES:
            for per_group in (1, 2, 3, 4, 8, 16, 29, 32, 58, 64, 100):
                x = numbered((3, groups * per_group), dtype)
                assert np.array_equal(k.channel_shuffle(x, groups, channels_last=True), shuffled(x, groups, -1))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("cache", [0, 1])
@quick
@given(
    pixels=st.lists(st.integers(0, 5), max_size=3),
    channels=st.integers(0, 150),
    dtype=st.sampled_from(DTYPES),
    wider=st.booleans(),
)
def test_concat_channel_shuffle(level, cache, pixels, channels, dtype, wider):
    both = numbered((*pixels, 2 * channels), dtype)
    a, b = both[..., :channels], both[..., channels:]
    if not wider:
        a, b = a.copy(), b.copy()
    _core.set_last_cache(cache)
    try:
        with k.isa.use(level):
            got = k.concat_channel_shuffle(a, b)
    finally:
        _core.set_last_cache(0)
    assert got.dtype == both.dtype
    assert np.array_equal(got, shuffled(both, 2, -1))


def test_concat_of_views_with_one_row_or_gaps():
    wide = numbered((2, 3, 4, 10), "float32")
    for a, b in [
        (wide[:1, :1, :1, :3], wide[:1, :1, :1, 5:8]),
        (wide[:, :, :, :5], wide[:, :, :, 5:]),
        (wide[:1, :, :, :4], wide[1:, :, :, 3:7]),
        (wide[0, 0, ::2, :4], wide[0, 1, ::2, :4]),
    ]:
        want = shuffled(np.concatenate([a, b], -1), 2, -1)
        assert np.array_equal(k.concat_channel_shuffle(a, b), want)
    row = np.ones((1, 1, 5, 8), np.float32)
    repeated = [np.broadcast_to(row, (2, 3, 5, 8)), np.broadcast_to(row[:, :, :1], (1, 1, 5, 8))]
    for bad in (wide[:, ::2], wide[..., ::2], wide[::-1], wide.transpose(0, 1, 3, 2), *repeated):
        with pytest.raises(ValueError, match="a must be C-contiguous, but for gaps between its rows"):
            k.concat_channel_shuffle(bad, bad)


def test_large_arrays_in_threads():
    x = numbered((8, 60, 56, 57), "float32")
    for threads in (1, 2, 3):
        for groups in (2, 3, 4):
            assert np.array_equal(k.channel_shuffle(x, groups, threads=threads), shuffled(x, groups, 1))
            flat = x.reshape(8, -1, 60)
            assert np.array_equal(
                k.channel_shuffle(flat, groups, channels_last=True, threads=threads), shuffled(flat, groups, -1)
            )
        a, b = flat[..., :30], flat[..., 30:]
        assert np.array_equal(k.concat_channel_shuffle(a, b, threads=threads), shuffled(flat, 2, -1))


def test_buffers_without_numpy():
    source = memoryview(bytes(range(12))).cast("B", (2, 6))
    got = k.channel_shuffle(source, 3)
    assert isinstance(got, memoryview)
    assert (got.format, got.shape) == ("B", (2, 6))
    assert got.tolist() == [[0, 2, 4, 1, 3, 5], [6, 8, 10, 7, 9, 11]]
    floats = k.channel_shuffle(memoryview(np.arange(4, dtype="f4").reshape(1, 4)), 2)
    assert (floats.format, floats.tolist()) == ("f", [[0, 2, 1, 3]])
    assert k.channel_shuffle(memoryview(np.zeros((1, 4), "f2")), 2).format == "H"
    numbers = (ctypes.c_float * 4)(0, 1, 2, 3)
    got = k.channel_shuffle(numbers, 2, channels_last=True)
    assert (got.format, got.tolist()) == ("f", [0, 2, 1, 3])


def test_an_output_of_the_same_type_or_of_bits():
    x = np.arange(6, dtype="f4").reshape(1, 6)
    for dtype in ("f4", "u4"):
        out = np.zeros((1, 6), dtype)
        assert np.array_equal(k.channel_shuffle(x, 2, out=out).view("f4"), [[0, 3, 1, 4, 2, 5]])
    for one, other in (("i8", np.longlong), ("l", "q"), ("?", "?"), ("f2", "f2")):
        k.concat_channel_shuffle(np.zeros(3, one), np.zeros(3, other))
    for one, other in (("f4", "i4"), ("f4", "u4"), ("u8", "i8"), ("f2", "u2")):
        with pytest.raises(TypeError, match="b must hold items of the type of a"):
            k.concat_channel_shuffle(np.zeros(3, one), np.zeros(3, other))


def test_fields_may_be_called_like_the_format_of_objects():
    x = np.zeros((1, 4), [("O", "i4")])
    assert k.channel_shuffle(x, 2).dtype == x.dtype


@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((np.zeros((1, 6)), 4), {}, ValueError, r"groups must divide the channels of src \(6\), and 4 does not"),
        ((np.zeros((1, 6)), 0), {}, ValueError, "groups must divide"),
        ((np.zeros((1, 6)), -2), {}, ValueError, "groups must divide"),
        ((np.zeros(6), 2), {}, ValueError, "src must have two axes at least"),
        ((np.zeros(()), 2), {"channels_last": True}, ValueError, "src must have one axis at least"),
        ((np.zeros((1, 6), complex), 2), {}, TypeError, "src must hold items of 1, 2, 4 or 8 bytes"),
        ((np.zeros((6, 6)).T, 2), {}, ValueError, "src must be C-contiguous"),
        (([1, 2], 2), {}, TypeError, "src must be an array or another object with a buffer, not list"),
        (
            (np.zeros((1, 6)), 2),
            {"out": np.zeros(6, "f4")},
            TypeError,
            "out must .* the type of src, float64, but holds float32",
        ),
        (
            (np.zeros((1, 6)), 2),
            {"out": np.zeros(6, "i8")},
            TypeError,
            "out must .* the type of src, float64, but holds int64",
        ),
        ((np.zeros((1, 6), object), 2), {}, TypeError, "src must hold .* no Python objects, but holds Python objects"),
        ((np.zeros((1, 6), [("a", "O")]), 2), {}, TypeError, "src must hold .* no Python objects, but"),
        (
            (np.zeros((1, 6), "M8[s]"), 2),
            {},
            TypeError,
            r"src must .* holds datetime64\[s\]; src.view\(np.uint64\) has its bits",
        ),
        ((np.zeros((1, 6)), 2.0), {}, TypeError, "groups must be an integer, not float"),
        ((np.zeros((1, 6)), 2**70), {}, ValueError, "groups must divide the channels"),
        (
            (np.zeros((1, 6)), 2),
            {"out": np.zeros(5)},
            ValueError,
            r"out must have the shape \(1, 6\), that of src, but has \(5,\)",
        ),
        ((np.zeros((1, 6)), 2), {"threads": 0}, ValueError, "threads must be None or 1 to 1024"),
        ((np.zeros((1, 6)), 2), {"threads": 2**70}, ValueError, "threads must be None or 1 to 1024"),
        ((np.zeros((1, 6)), 2), {"threads": "2"}, TypeError, "threads must be an integer, not str"),
    ],
)
def test_bad_arguments(arguments, keywords, error, message):
    with pytest.raises(error, match=message):
        k.channel_shuffle(*arguments, **keywords)


def test_an_output_that_overlaps():
    x = np.zeros((2, 6))
    with pytest.raises(ValueError, match="out overlaps src"):
        k.channel_shuffle(x, 2, out=x)
    with pytest.raises(ValueError, match="out overlaps b"):
        k.concat_channel_shuffle(np.zeros(3), x[0, 3:], out=x[0])
