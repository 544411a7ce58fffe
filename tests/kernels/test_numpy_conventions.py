"""axis, keepdims, dtype, out and scalars of the kernels over rows, against NumPy's own functions on the same arrays."""

import array
import ctypes
import sys

import isagen_kernels as k
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.arrays import quick, unaligned

SHAPES = [(), (1,), (7,), (3, 4), (4, 1), (1, 5), (2, 3, 4), (17, 9, 33), (2, 1, 3, 2), (0,), (3, 0), (0, 3), (2, 0, 3)]
DTYPES = ("float32", "float64", "int32", "int8", "uint8")


def logsumexp(x, axis=None, keepdims=False):
    return np.log(np.sum(np.exp(x), axis, keepdims=keepdims))


def softmax(x, axis=-1):
    return np.exp(x) / np.sum(np.exp(x), axis, keepdims=True)


REDUCTIONS = {k.sum: np.sum, k.mean: np.mean, k.max: np.max, k.min: np.min, k.logsumexp: logsumexp}
SCANS = {k.cumsum: np.cumsum, k.softmax: softmax, k.log_softmax: lambda x, axis=-1: np.log(softmax(x, axis))}
by_name = {"ids": lambda value: getattr(value, "__name__", None)}


def numbers(shape, dtype="float32", offset=0):
    """Small integers, whose sums are exact in every dtype and order."""
    x = np.random.default_rng(8).integers(0, 5, shape).astype(dtype)
    return unaligned(x, offset) if offset else x


def axes_of(shape):
    """None, every axis from either end, and every run of neighbouring ones."""
    last = len(shape)
    runs = [tuple(range(first, end)) for first in range(last) for end in range(first, last + 1)]
    return [None, *range(-last, last), *runs, *([(-1, -2)] if last > 1 else [])]


def same(got, want, exactly):
    """Whether two results agree in kind, dtype, shape and values."""
    kind = (type(got), got.dtype, got.shape) == (type(want), want.dtype, want.shape)
    return kind and (np.array_equal(got, want) if exactly else np.allclose(got, want, rtol=1e-5, equal_nan=True))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ours", REDUCTIONS, **by_name)
def test_reductions_along_any_axes(ours, shape):
    theirs = REDUCTIONS[ours]
    for dtype in ("float32", "float64"):
        x = numbers(shape, dtype, 1)
        for axis in axes_of(shape):
            for keepdims in (False, True):
                with np.errstate(all="ignore"):
                    try:
                        want = theirs(x, axis, keepdims=keepdims)
                    except ValueError:  # the largest of none
                        with pytest.raises(ValueError, match="src must have items"):
                            ours(x, axis, keepdims=keepdims)
                        continue
                    except RuntimeWarning:  # the mean of none
                        want = np.full_like(np.sum(x, axis, keepdims=keepdims), np.nan)
                got = ours(x, axis, keepdims=keepdims)
                want = want if isinstance(got, np.ndarray) else want[()]
                assert same(got, want, ours in (k.sum, k.max, k.min)), (dtype, axis, keepdims, got, want)
                out = np.full(np.shape(want), 7, dtype)
                assert ours(x, axis, keepdims=keepdims, out=out) is out
                assert np.array_equal(out, got, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_along_any_axis_of_every_dtype(dtype):
    x = numbers((5, 6, 70), dtype)
    for axis in axes_of(x.shape):
        assert same(k.max(x, axis), np.max(x, axis), True)
        assert same(k.min(x, axis), np.min(x, axis), True)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("ours", SCANS, **by_name)
def test_scans_along_any_axis(ours, shape):
    theirs = SCANS[ours]
    for dtype in ("float32", "float64"):
        x = numbers(shape, dtype, 1)
        for axis in (None, *range(-len(shape), len(shape))):
            want = theirs(x, axis)
            got = ours(x, axis)
            want = want if isinstance(got, np.ndarray) else want[()]
            assert same(got, want, ours is k.cumsum), (dtype, axis, got, want)
            if got.shape == shape and shape:
                here = x.copy()
                assert ours(here, axis, out=here) is here
                assert np.array_equal(here, got)


@pytest.mark.smoke
def test_the_default_axes():
    x = numbers((3, 4))
    assert same(k.cumsum(x), np.cumsum(x), True)
    for ours, theirs in REDUCTIONS.items():
        assert same(ours(x), theirs(x), False)
    assert same(k.softmax(x), softmax(x), False)
    assert np.allclose(k.log_softmax(x), np.log(softmax(x)))


@quick
@given(
    shape=st.lists(st.integers(1, 40), min_size=2, max_size=4).map(tuple),
    data=st.data(),
    ours=st.sampled_from([*REDUCTIONS, *SCANS]),
    threads=st.integers(1, 3),
)
def test_any_axis_gives_the_bits_of_the_last(shape, data, ours, threads):
    """Rows are copied in blocks, which must not change a row's result. Columns are added in another order than rows."""
    x = np.random.default_rng(9).standard_normal(shape, np.float32)
    axis = data.draw(st.integers(0, len(shape) - 1))
    moved = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    want = ours(moved, -1, threads=1)
    if ours in SCANS:
        want = np.moveaxis(want, -1, axis)
    got = ours(x, axis, threads=threads)
    if ours in (k.sum, k.mean):
        assert np.array_equal(got, ours(x, axis, threads=1))
        assert np.allclose(got, want, rtol=1e-5, atol=1e-5)
    else:
        assert np.array_equal(got, want)


@pytest.mark.parametrize(
    "shape", [(300_001, 3), (3, 300_001), (2, 150_000, 2), (1024, 1024), (70_001, 5, 3), (9_001, 33)], ids=str
)
def test_long_rows_and_several_blocks_in_threads(shape):
    x = numbers(shape, "int32")
    for threads in (1, 2, 3):
        for axis in range(len(shape)):
            assert np.array_equal(k.sum(x, axis, threads=threads), np.sum(x, axis))
            assert np.array_equal(k.max(x, axis, threads=threads), np.max(x, axis))
            assert np.array_equal(k.cumsum(x, axis, threads=threads), np.cumsum(x, axis))
    floats = x.astype(np.float32)
    assert np.allclose(k.mean(floats, 0, threads=2), np.mean(floats, 0, dtype=np.float64))
    floats.flat[len(floats.flat) // 2] = np.nan
    assert np.array_equal(k.max(floats, 0, threads=2), np.max(floats, 0), equal_nan=True)
    floats = x.astype(np.float32)
    assert np.allclose(k.softmax(floats, 0, threads=2), softmax(x.astype(np.float64), 0), rtol=1e-5)


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, "f4", "float64", float, np.dtype("f4"), "float"], ids=str)
def test_dtype(source, dtype):
    x = numbers((20, 30, 4), source)
    for axis in (None, 0, 1, -1):
        assert same(k.sum(x, axis, dtype=dtype), np.sum(x, axis, dtype=dtype), True)
        assert same(k.cumsum(x, axis, dtype=dtype), np.cumsum(x, axis, dtype=dtype), True)
        assert same(k.mean(x, axis, dtype=dtype), np.mean(x, axis, dtype=dtype), False)
        assert same(k.softmax(x, axis, dtype=dtype), softmax(x.astype(dtype), axis), False)
        assert np.allclose(k.log_softmax(x, axis, dtype=dtype), np.log(softmax(x.astype(dtype), axis)), rtol=1e-5)


def test_dtype_of_integers():
    for source in ("int32", "int8", "uint8"):
        x = numbers((20, 30), source)
        for axis in (None, 0, -1):
            assert same(k.sum(x, axis, dtype=np.int64), np.sum(x, axis, dtype=np.int64), True)
            assert same(k.cumsum(x, axis, dtype="i4"), np.cumsum(x, axis, dtype="i4"), True)
    x = np.full((3, 2), 2**31 - 1, np.int32)
    assert same(k.sum(x, 0), np.sum(x, 0), True)
    assert same(k.cumsum(x, 0), np.cumsum(x, 0, dtype=np.int32), True)


def test_dtype_adds_in_that_dtype():
    x = np.array([2**24, 1, 1, 1], np.float32)
    assert k.sum(x, dtype=np.float64) == 2**24 + 3
    assert np.array_equal(k.cumsum(x, dtype=np.float64), np.cumsum(x, dtype=np.float64))
    assert np.array_equal(k.cumsum(x.astype("f8"), dtype="f4"), k.cumsum(x))


@pytest.mark.parametrize("name", ["<f4", "=f8", "<i8", "l", "long"] if sys.byteorder == "little" else [">f4", "l"])
def test_names_of_dtypes_are_numpys(name):
    wanted = np.sum(np.ones(3, np.int32), dtype=name)
    if wanted.dtype.itemsize == 8 or wanted.dtype.kind == "f":  # sums of integers are of int64
        assert same(k.sum(np.ones(3, np.int32), dtype=name), wanted, True)


@pytest.mark.parametrize("function", [k.sum, k.mean], ids=["sum", "mean"])
@pytest.mark.parametrize("size", [2**17 - 1, 2**17, 2**18 + 77])
def test_long_rows_of_another_dtype_are_added_as_if_they_were_copied(function, size):
    for source in ("i1", "i4", "f4"):
        x = numbers((3, size), source)
        for axis in (None, 1):
            for threads in (1, 2):
                got = function(x, axis, dtype="f8", threads=threads)
                assert np.array_equal(got, function(x.astype("f8"), axis))
    assert k.sum(x.astype("u1"), dtype="i8") == np.sum(x.astype("u1"), dtype="i8")


@pytest.mark.smoke
def test_scalars_and_arrays_without_axes():
    for x in (np.float32(3), np.array(3, np.float32), np.float64(3)):
        for axis in (None, 0, -1):
            for ours in (k.sum, k.mean, k.max, k.min, k.logsumexp, k.softmax):
                got = ours(x, axis)
                assert (type(got), got) == (x.dtype.type, 1 if ours is k.softmax else 3)
        assert same(k.cumsum(x), np.cumsum(x), True)
        out = np.zeros((), x.dtype)
        assert k.sum(x, out=out) is out
        assert out == 3
    assert type(k.sum(np.ones(3, np.int32))) is np.int64
    assert type(k.max(np.ones(3, np.uint8))) is np.uint8
    assert type(k.sum(array.array("f", [1, 2]))) is type(k.softmax(ctypes.c_float(3))) is float
    assert type(k.max(b"12")) is int
    assert (type(k.cvt_fp32_to_fp16(np.float32(3))), k.cvt_fp32_to_fp16(np.float32(3))) == (np.float16, 3)
    assert k.cvt_fp32_to_fp16(np.array(3, "f4")).shape == np.array(3, "f4").astype("f2").shape == ()


VIEWS = {
    "every second row": lambda x: x[::2],
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[..., ::-1],
    "a part": lambda x: x[:, :, 1:5],
    "repeated": lambda x: np.broadcast_to(x[:1], x.shape),
    "axes in another order": lambda x: x.transpose(2, 0, 3, 1),
    "whole": lambda x: x,
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_any_layout_and_any_axes(view, dtype):
    x = view(numbers((6, 7, 8, 9), dtype))
    for threads in (1, 2):
        for axis in (None, 0, 1, -1, (0, 2), (1, 3), (0, 1), (3, 0, 1), (0, 1, 2), (1, 2, 3), ()):
            assert same(k.sum(x, axis, threads=threads), np.sum(x, axis), True)
            assert same(k.max(x, axis, keepdims=True, threads=threads), np.max(x, axis, keepdims=True), True)
        for axis in (None, 0, 1, -1):
            assert same(k.cumsum(x, axis, threads=threads), np.cumsum(x, axis, dtype=dtype), True)
            assert same(k.softmax(x, axis, dtype="f8", threads=threads), softmax(x.astype("f8"), axis), False)


def test_long_strided_rows_and_many():
    for x in (numbers((3, 200_001), "int32")[:, ::2], numbers((50_001, 4), "int32")[::-1, :3], numbers((300, 400)).T):
        for threads in (1, 3):
            for axis in (None, 0, 1):
                assert np.array_equal(k.sum(x, axis, threads=threads), np.sum(x, axis))
            assert np.array_equal(k.cumsum(x, 1, threads=threads), np.cumsum(x, 1, dtype=x.dtype))


def test_a_reduction_of_a_transposed_array_reads_it_where_it_is():
    """It adds in the order of memory, as along the other axis of the array before, and not in that of a copy."""
    x = numbers((300, 400), "float32") / 7
    assert np.array_equal(k.sum(x.T, -1), k.sum(x, 0))
    assert np.array_equal(k.mean(x.T, 0), k.mean(x, -1))
    assert k.sum(x.T) == k.sum(x)
    assert np.array_equal(k.sum(x.reshape(3, 100, 400).T, (0, 1)), k.sum(x.reshape(3, 100, 400), (1, 2)))


def test_an_output_is_not_the_memory_of_a_transposed_argument():
    x = numbers((5, 5))
    with pytest.raises(ValueError, match="out overlaps src"):
        k.cumsum(x.T, 0, out=x)
    reverse = x.reshape(25)[::-1]
    with pytest.raises(ValueError, match="out overlaps src"):
        k.cumsum(reverse, out=x.reshape(25))
    with pytest.raises(ValueError, match="out overlaps src"):
        k.sum(x[::-1], 0, out=x[0])


@pytest.mark.parametrize("axis", [3, -4, 2**70, -(2**70), (0, 3)], ids=str)
@pytest.mark.parametrize("ours", [*REDUCTIONS, *SCANS], **by_name)
def test_an_axis_out_of_range_is_numpys_error(ours, axis):
    x = numbers((2, 3, 4))
    if isinstance(axis, tuple) and ours in SCANS:
        with pytest.raises(TypeError, match="axis must be None or an integer, not tuple"):
            ours(x, axis)
        return
    bad = axis[1] if isinstance(axis, tuple) else axis
    if abs(bad) < 2**31:  # beyond, NumPy fails to convert the number
        with pytest.raises(np.exceptions.AxisError) as theirs:
            np.sum(x, axis)
        assert str(theirs.value) == f"axis {bad} is out of bounds for array of dimension 3"
    with pytest.raises(np.exceptions.AxisError, match=f"^axis {bad} is out of bounds for array of dimension 3$"):
        ours(x, axis)


@pytest.mark.parametrize(
    ("axis", "error", "message"),
    [
        ((0, 0), ValueError, "duplicate value in 'axis': name axis 0 once$"),
        ((0, -3), ValueError, "duplicate value in 'axis'"),
        (1.0, TypeError, "axis must be None, an integer or a tuple of integers, not float"),
        ([0, 1], TypeError, "axis must be None, an integer or a tuple of integers, not list"),
        ((0, "1"), TypeError, "axis must be an integer, not str"),
    ],
)
def test_axes_that_are_none(axis, error, message):
    with pytest.raises(error, match=message):
        k.sum(numbers((2, 3, 4)), axis)
