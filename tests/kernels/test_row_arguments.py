"""Axes, results, empty rows, buffers and bad arguments of the kernels over rows."""

import array
import ctypes

import isagen_kernels as k
import numpy as np
import pytest


def test_axes_and_results():
    x = np.ones((2, 3, 4), np.float32)
    assert (k.sum(x), k.mean(x), k.max(x)) == (24, 1, 1)
    assert isinstance(k.sum(x), np.float32)
    assert k.sum(x, -1).shape == k.sum(x, 2).shape == (2, 3)
    assert k.sum(x, axis=-1).dtype == np.float32
    assert k.sum(x.astype(np.int32), -1).dtype == np.int64
    assert isinstance(k.sum(x[0, 0], -1), np.float32)
    assert k.sum(np.float32(3)) == k.sum(np.array(3, np.float32), 0) == 3
    assert k.cumsum(np.array(3, np.float32), 0).shape == ()
    out = np.empty((2, 3), np.float32)
    assert k.max(x, -1, out=out) is out
    one = np.empty(())
    assert k.logsumexp(np.zeros(5), out=one) is one
    assert one == np.log(5)
    for axis in (3, -4):
        for function in (k.sum, k.cumsum, k.softmax, k.logsumexp):
            with pytest.raises(ValueError, match=f"axis {axis} is out of bounds for array of dimension 3"):
                function(x, axis)


def test_rows_without_end_of_nothing():
    """The rows have no memory, and too many to loop over."""
    x = np.empty((2**60, 0), np.float32)
    for function in (k.cumsum, k.softmax, k.log_softmax):
        for axis in (0, -1):
            assert function(x, axis).shape == x.shape
    for function in (k.sum, k.mean, k.max, k.logsumexp):
        assert function(x, 0).shape == (0,)


def test_large_results_are_aligned_to_cache_lines():
    for _ in range(5):
        for shape in ((1 << 18,), (512, 513), (2, 3, 1 << 17)):
            got = k.cumsum(np.ones(shape, np.float32), -1)
            assert (got.ctypes.data % 64, got.shape, got.dtype) == (0, shape, np.float32)
            assert got.flags.c_contiguous
            assert got.flags.writeable
            assert (got[..., -1] == shape[-1]).all()


def test_nothing():
    for shape in [(0,), (3, 0), (0, 3), (2, 0, 3), (0, 0)]:
        x = np.empty(shape, np.float32)
        for function in (k.cumsum, k.softmax, k.log_softmax):
            assert function(x, -1).shape == shape
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
        (lambda: k.cumsum([1.0]), TypeError, "src must be an array or another object with a buffer, not list"),
        (
            lambda: k.cumsum(b"1234"),
            TypeError,
            r"src must hold float32, float64 or int32, but holds uint8; dtype=.float64. reads it",
        ),
        (
            lambda: k.cumsum(F4.astype(">f4")),
            TypeError,
            r"src must hold .* holds float32 in the other byte order; src.astype\(np.float32\) converts it$",
        ),
        (
            lambda: k.cumsum(F4, out=np.zeros(4)),
            TypeError,
            "out must hold float32, but holds float64; dtype='float64' gives such a result$",
        ),
        (lambda: k.max(F4, out=np.zeros(())), TypeError, "out must hold float32, but holds float64$"),
        (lambda: k.sum(F4, F4), TypeError, "axis must be an integer, not numpy.ndarray"),
        (lambda: k.softmax(F4, F4), TypeError, "axis must be an integer, not numpy.ndarray"),
        (lambda: k.cumsum(F4, out=np.zeros(3, "f4")), ValueError, r"out must have the shape \(4,\), that of src, but"),
        (
            lambda: k.softmax(F4, out=np.zeros((2, 2), "f4")),
            ValueError,
            r"out must have .* \(4,\), .* but has \(2, 2\)",
        ),
        (
            lambda: k.cumsum(np.zeros((2, 2)), out=np.zeros((2, 2))),
            ValueError,
            r"\(4,\), one axis with all items of src",
        ),
        (
            lambda: k.softmax(F4, out=np.zeros(8, "f4")[::2]),
            ValueError,
            "out must be C-contiguous; pass an array that is",
        ),
        (lambda: k.cumsum(F4, out=memoryview(bytes(16)).cast("f")), BufferError, "out: .*(not writable|read-?only)"),
        (lambda: k.cumsum(F4, threads=0), ValueError, "threads must be None or 1 to 1024, not 0$"),
        (lambda: k.cumsum(F4, threads=2000), ValueError, "threads must be None or 1 to 1024, not 2000$"),
        (lambda: k.cumsum(F4, threads="2"), TypeError, "threads must be an integer, not str"),
        (lambda: k.cumsum(F4, True), TypeError, "axis must be an integer, not bool"),
        (lambda: k.sum(F4, (0, True)), TypeError, "axis must be an integer, not bool"),
        (lambda: k.sum(F4, keepdims="no"), TypeError, "keepdims must be True or False, not str"),
        (lambda: k.max(F4, keepdims=None), TypeError, "keepdims must be True or False, not NoneType"),
        (lambda: k.cumsum(F4.astype(complex)), TypeError, "src must hold float32, .* complex128$"),
        (
            lambda: k.softmax(F4.astype("M8[s]")),
            TypeError,
            r"src must hold float32 .* holds datetime64\[s\]$",
        ),
        (lambda: k.cumsum(array.array("u", "ab")), TypeError, "src must hold float32, .* '[uw]'"),
        (
            lambda: k.logsumexp((ctypes.c_float.__ctype_be__ * 2)(1, 2)),
            TypeError,
            "src must hold float32 .* float32 in the other byte order",
        ),
        (
            lambda: k.softmax((ctypes.c_float.__ctype_be__ * 2)(1, 2)),
            TypeError,
            "src must hold float32 .* float32 in the other byte order",
        ),
        (
            lambda: k.softmax(np.zeros(4, "i4")),
            TypeError,
            "src must hold float32 or float64, but holds int32; dtype=.float64. reads it",
        ),
        (lambda: k.softmax(F4, out=F4[1:]), ValueError, r"out must have the shape \(4,\), that of src, but has \(3,\)"),
        (lambda: k.sum(np.zeros(4, "u2")), TypeError, "src must hold float32, float64 or int32, but holds uint16"),
        (
            lambda: k.sum(np.zeros((2, 2), "f4"), -1, out=F4),
            ValueError,
            r"out must have the shape \(2,\), that of src without the reduced axes, but has \(4,\)",
        ),
        (lambda: k.sum(F4, out=np.zeros(1, "f4")), ValueError, r"out must have the shape \(\), .*, but has \(1,\)"),
        (lambda: k.sum(np.zeros(4, "i4"), out=np.zeros((), "i4")), TypeError, "out must hold int64, but holds int32"),
        (lambda: k.sum(np.zeros(4, "i8")), TypeError, r"holds int64; src.astype\(np.float64\) is exact up to 2"),
        (
            lambda: k.sum(F4, dtype="int64"),
            TypeError,
            "dtype int64 would cut off the fractions of src, .* float32; leave dtype out",
        ),
        (lambda: k.sum(F4, dtype="u1"), TypeError, "dtype must be float32, float64 or int64, not u1"),
        (lambda: k.cumsum(F4, dtype=np.int64), TypeError, "dtype must be float32, float64 or int32, not int64"),
        (lambda: k.softmax(F4, dtype=np.float16), TypeError, "dtype must be float32 or float64, not float16"),
        (lambda: k.softmax(np.zeros(4, "f2"), dtype="f4"), TypeError, "src must hold .* or uint8, but holds float16"),
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
    with pytest.raises(
        ValueError, match=r"out overlaps src without being the same; pass an array with memory of its own$"
    ):
        k.cumsum(x[:5], out=x[1:6])
    with pytest.raises(ValueError, match="out overlaps src"):
        k.sum(x, out=x[:1].reshape(()))
    bits = x.view(np.uint16)
    with pytest.raises(ValueError, match="out overlaps src"):
        k.cvt_fp32_to_bf16(x, bits[:10])
    square = np.zeros((4, 4), np.float32)
    with pytest.raises(ValueError, match="out overlaps src"):
        k.sum(square, 0, out=square[0])
