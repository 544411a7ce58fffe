"""Axes, results, empty rows, buffers and bad arguments of the kernels over rows."""

import array
import ctypes

import isagen_kernels as k
import numpy as np
import pytest


def test_axes_and_results():
    x = np.ones((2, 3, 4), np.float32)
    assert (k.sum(x), k.mean(x), k.max(x)) == (24, 1, 1)
    assert isinstance(k.sum(x), float)
    assert k.sum(x, -1).shape == k.sum(x, 2).shape == (2, 3)
    assert k.sum(x, axis=-1).dtype == np.float32
    assert k.sum(x.astype(np.int32), -1).dtype == np.int64
    assert isinstance(k.sum(x[0, 0], -1), float)
    assert k.sum(np.float32(3)) == k.sum(np.array(3, np.float32), 0) == 3
    assert k.cumsum(np.array(3, np.float32)).shape == ()
    out = np.empty((2, 3), np.float32)
    assert k.max(x, -1, out=out) is out
    one = np.empty(1)
    assert k.logsumexp(np.zeros(5), out=one) is one
    assert one == np.log(5)
    for axis in (0, 1, 3, -2, -3):
        for function in (k.sum, k.cumsum, k.softmax, k.logsumexp):
            with pytest.raises(ValueError, match=f"axis must be the last one, -1 or 2, not {axis}"):
                function(x, axis)


def test_rows_without_end_of_nothing():
    """The rows have no memory, and too many to loop over."""
    x = np.empty((2**60, 0), np.float32)
    for function in (k.cumsum, k.softmax, k.log_softmax):
        assert function(x).shape == x.shape


def test_large_results_are_aligned_to_cache_lines():
    for _ in range(5):
        for shape in ((1 << 18,), (512, 513), (2, 3, 1 << 17)):
            got = k.cumsum(np.ones(shape, np.float32))
            assert (got.ctypes.data % 64, got.shape, got.dtype) == (0, shape, np.float32)
            assert got.flags.c_contiguous
            assert got.flags.writeable
            assert (got[..., -1] == shape[-1]).all()


def test_nothing():
    for shape in [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 0)]:
        x = np.empty(shape, np.float32)
        for function in (k.cumsum, k.softmax, k.log_softmax):
            assert function(x).shape == shape
        assert k.sum(x) == 0
        assert np.isnan(k.mean(x))
        assert k.logsumexp(x) == -np.inf
        if len(shape) > 1:
            assert np.array_equal(k.sum(x, -1), np.zeros(shape[:-1]))
            assert np.array_equal(k.logsumexp(x, -1), np.full(shape[:-1], -np.inf))


def test_buffers_without_numpy():
    x = array.array("d", [1, 2, 4])
    got = k.cumsum(x)
    assert isinstance(got, memoryview)
    assert (got.format, got.tolist()) == ("d", [1, 3, 7])
    assert k.cumsum((ctypes.c_int * 3)(1, 2, 4)).tolist() == [1, 3, 7]
    assert k.sum((ctypes.c_int * 3)(1, 2, 4)) == 7
    assert k.max(memoryview(b"\x01\xff\x02")) == 255
    rows = memoryview(x.tobytes()).cast("d").cast("B").cast("d", (3, 1))
    assert k.sum(rows, -1).tolist() == [1, 2, 4]
    assert k.softmax(memoryview(bytes(16)).cast("f", (2, 2))).tolist() == [[0.5, 0.5], [0.5, 0.5]]


F4 = np.zeros(4, np.float32)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: k.cumsum([1.0]), TypeError, "src must be an array or another bytes-like object, not list"),
        (lambda: k.cumsum(b"1234"), TypeError, "src must hold float32, float64 or int32, but its buffer format is 'B'"),
        (lambda: k.cumsum(F4.astype(">f4")), TypeError, "src must hold .*'>f'"),
        (lambda: k.cumsum(F4[::2]), ValueError, "src must be C-contiguous"),
        (lambda: k.cumsum(F4[::-1]), ValueError, "src must be C-contiguous"),
        (lambda: k.cumsum(np.zeros((4, 4), "f4").T), ValueError, "src must be C-contiguous"),
        (lambda: k.cumsum(F4, out=np.zeros(4)), TypeError, "out must hold float32, but its buffer format is 'd'"),
        (lambda: k.cumsum(F4, out=np.zeros(3, "f4")), ValueError, "out must hold 4 items, as many as src, but holds 3"),
        (lambda: k.cumsum(F4, out=memoryview(bytes(16)).cast("f")), BufferError, "out: .*(not writable|read-?only)"),
        (lambda: k.cumsum(F4, threads=0), ValueError, "threads must be None or 1 to 1024"),
        (lambda: k.cumsum(F4, threads=2000), ValueError, "threads must be None or 1 to 1024"),
        (lambda: k.cumsum(F4, threads="2"), TypeError, "threads must be an integer, not str"),
        (lambda: k.cumsum(F4.astype(complex)), TypeError, "src must hold float32, .* 'Zd'"),
        (lambda: k.softmax(F4.astype("M8[s]")), TypeError, "src: cannot include dtype 'M'"),
        (lambda: k.cumsum(array.array("u", "ab")), TypeError, "src must hold float32, .* '[uw]'"),
        (lambda: k.logsumexp((ctypes.c_float.__ctype_be__ * 2)(1, 2)), TypeError, "src must hold float32 .* '>f'"),
        (lambda: k.softmax((ctypes.c_float.__ctype_be__ * 2)(1, 2)), TypeError, "src must hold float32 .* '>f'"),
        (lambda: k.softmax(np.zeros(4, "i4")), TypeError, "src must hold float32 or float64, but"),
        (lambda: k.softmax(F4, out=F4[1:]), ValueError, "out must hold 4 items"),
        (lambda: k.sum(np.zeros(4, "u2")), TypeError, "src must hold float32, float64 or int32, but .*'H'"),
        (
            lambda: k.sum(np.zeros((2, 2), "f4"), -1, out=F4),
            ValueError,
            "out must hold 2 items, one for each row of src",
        ),
        (lambda: k.sum(np.zeros(4, "i4"), out=np.zeros(1, "i4")), TypeError, "out must hold int64"),
        (lambda: k.mean(np.zeros(4, "i4")), TypeError, "src must hold float32 or float64"),
        (lambda: k.max(np.zeros(4, "u2")), TypeError, "src must hold float32, float64, int32, int8 or uint8, but"),
        (lambda: k.max(F4[:0]), ValueError, "src must have items: there is no largest or smallest of none"),
    ],
)
def test_bad_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_output_that_overlaps():
    x = np.zeros(10, np.float32)
    with pytest.raises(ValueError, match="out overlaps src without being the same"):
        k.cumsum(x[:5], out=x[1:6])
    with pytest.raises(ValueError, match="out overlaps src"):
        k.sum(x, out=x[:1])
    bits = x.view(np.uint16)
    with pytest.raises(ValueError, match="out overlaps src"):
        k.cvt_fp32_to_bf16(x, bits[:10])
