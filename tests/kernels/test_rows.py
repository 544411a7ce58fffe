"""Prefix sums, reductions and softmax against NumPy in higher precision, within bounds that follow from the roundings.

u is the unit roundoff of the dtype. A sum of terms, each of which goes through at most r additions, is off by at most
r * u * sum(|terms|) (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), to first order; the factor SLACK is
for the rest.
"""

import array
import ctypes

import isagen_kernels as k
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from isagen_kernels import _core

from support.arrays import LANES, LEVELS, arrays, exactly, quick, unaligned, within

SLACK = 1.01
FLOATS = ("float32", "float64")
ROUNDOFF = {"float32": 2.0**-24, "float64": 2.0**-53}
LARGEST = {"float32": np.float64(np.finfo("f4").max), "float64": np.longdouble(np.finfo("f8").max)}
TINY = {"float32": 2.0**-149, "float64": 2.0**-1074}  # the smallest denormal

levels = pytest.mark.parametrize("level", LEVELS)


def lanes(level, x):
    return LANES.get(level, 16) * 4 // x.dtype.itemsize


def exact(x):
    """x in a type that adds without rounding errors that would matter here."""
    return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


def scan_roundings(level, columns, width):
    """One addition per vector before, log2(width) within, one that joins them."""
    return -(-columns // width) + np.log2(width) + 1


def sum_roundings(columns, width, ways=8, piece=64):
    """Accumulators over pieces of so many vectors each, log2 of their lanes, then float64, and the last rounding.

    What does not fill all accumulators is added to the first.
    """
    return min(columns // (ways * width), piece) + ways + np.log2(ways * width) + 1


# ---- prefix sums


@levels
@quick
@example(x=np.array([-3e38, -3e38, 3e38, 3e38], np.float32))
@given(x=arrays(FLOATS))
def test_cumsum(level, x):
    with k.isa.use(level):
        got = k.cumsum(x, threads=1)
    with np.errstate(all="ignore"):
        want = np.cumsum(exact(x), -1)
        sizes = np.cumsum(np.abs(np.nan_to_num(exact(x), posinf=0, neginf=0)), -1)
    bound = sizes * (scan_roundings(level, x.shape[-1], lanes(level, x)) * ROUNDOFF[x.dtype.name] * SLACK)
    # Sums of some of the numbers come near the largest one: they may overflow, elsewhere than one after the other.
    near = sizes > LARGEST[x.dtype.name] / 4
    assert within(np.where(near, 0, got), np.where(near, 0, want), bound)


@levels
@quick
@given(x=arrays(("int32",)))
def test_cumsum_of_integers_wraps(level, x):
    with k.isa.use(level):
        assert np.array_equal(k.cumsum(x), np.cumsum(x, -1, dtype=np.int32))


@levels
def test_cumsum_is_exact_where_sums_are(level):
    with k.isa.use(level):
        for n in [*range(201), 1023, 4099]:
            for dtype in ("float32", "float64", "int32"):
                x = np.arange(n).astype(dtype)
                out = unaligned(np.full(n + 2, 7, dtype), 1)
                assert k.cumsum(x, out=out[1:-1]) is not None
                assert np.array_equal(out[1:-1], np.cumsum(x, dtype=dtype))
                assert out[0] == out[-1] == 7
                k.cumsum(x, out=x)
                assert np.array_equal(out[1:-1], x)


@levels
def test_cumsum_keeps_the_sign_of_zeros(level):
    with k.isa.use(level):
        for n in (1, 5, 40):
            assert np.signbit(k.cumsum(np.full(n, -0.0, np.float32))).all()


@levels
def test_cumsum_of_a_long_row_in_threads(level):
    rng = np.random.default_rng(3)
    ones = np.ones(1_000_003, np.int32)
    whole = rng.integers(-1000, 1000, 2_000_001, np.int32)
    floats = whole.astype(np.float32)  # every prefix sum is an integer below 2^24 or so, most exactly
    doubles = whole.astype(np.float64)
    with k.isa.use(level):
        for threads in (1, 2, 3, 5):
            assert np.array_equal(k.cumsum(ones, threads=threads), np.arange(1, len(ones) + 1))
            assert np.array_equal(k.cumsum(whole, threads=threads), np.cumsum(whole, dtype=np.int32))
            assert np.array_equal(k.cumsum(doubles, threads=threads), np.cumsum(doubles))
            assert np.array_equal(k.cumsum(floats, threads=threads), np.cumsum(doubles))
            both = np.stack([whole, whole[::-1]])
            assert np.array_equal(k.cumsum(both, threads=threads), np.cumsum(both, -1, dtype=np.int32))


# ---- reductions


@levels
@quick
@given(x=arrays(FLOATS), axis=st.sampled_from((None, -1)))
def test_sum_and_mean(level, x, axis):
    columns = x.size if axis is None else x.shape[-1]
    with k.isa.use(level):
        total, mean = k.sum(x, axis), k.mean(x, axis)
    with np.errstate(all="ignore"):
        want = np.sum(exact(x), axis)
        sizes = np.sum(np.abs(np.nan_to_num(exact(x), posinf=0, neginf=0)), axis)
        near = sizes > LARGEST[x.dtype.name] / 4  # partial sums may overflow
        bound = sizes * (sum_roundings(columns, lanes(level, x)) * ROUNDOFF[x.dtype.name] * SLACK)
        if x.dtype == np.float64:
            bound = bound * 2  # adding the pieces rounds too
        assert within(np.where(near, 0, total), np.where(near, 0, want), bound)
        if columns == 0:
            assert np.isnan(mean).all()
        else:
            assert within(
                np.where(near, 0, mean), np.where(near, 0, want / columns), bound / columns + TINY[x.dtype.name]
            )


@levels
@quick
@given(x=arrays(("int32",)), axis=st.sampled_from((None, -1)))
def test_sum_of_integers_is_exact(level, x, axis):
    with k.isa.use(level):
        got = k.sum(x, axis)
    assert np.array_equal(got, np.sum(x, axis, dtype=np.int64))


@levels
@quick
@given(x=arrays(("float32", "float64", "int32", "int8", "uint8")), axis=st.sampled_from((None, -1)))
def test_max_and_min(level, x, axis):
    rows = 1 if axis is None else int(np.prod(x.shape[:-1]))
    with k.isa.use(level):
        if rows and x.size == 0:
            for reduction in (k.max, k.min):
                with pytest.raises(ValueError, match="src must have items"):
                    reduction(x, axis)
        elif rows:
            assert exactly(k.max(x, axis), np.max(x, axis))
            assert exactly(k.min(x, axis), np.min(x, axis))
        else:
            assert k.max(x, axis).shape == x.shape[:-1]


@levels
def test_extremes_wherever_they_are(level):
    with k.isa.use(level):
        for n in (1, 2, 7, 64, 131):
            for dtype in ("float32", "float64", "int32", "int8", "uint8"):
                for place in range(n):
                    x = np.full(n, 50, dtype)
                    x[place] = 51
                    assert (k.max(x), k.min(x)) == (51, 50 if n > 1 else 51)
                    x[place] = 49
                    assert (k.max(x), k.min(x)) == (50 if n > 1 else 49, 49)
                    if dtype in FLOATS:
                        x[place] = np.nan
                        assert np.isnan([k.max(x), k.min(x)]).all()


def exp_sum_error(level, x, terms):
    """The relative error of sum(exp(x - m)): of exp's argument, of exp itself (1.02 units of 2 u), of the additions.

    x - m is off by u |x - m|, and so is its exp; on average over the terms |x - m| is log(columns) at most, since that
    less the logarithm of the sum is an entropy.
    """
    columns = max(x.shape[-1], 1)
    return np.log(columns) + 2.1 + sum_roundings(columns, lanes(level, x), 4, 128)


@levels
@quick
@given(x=arrays(FLOATS), logarithm=st.booleans(), in_place=st.booleans())
def test_softmax(level, x, logarithm, in_place):
    u, tiny = ROUNDOFF[x.dtype.name], TINY[x.dtype.name]
    with np.errstate(all="ignore"):
        m = np.max(exact(x), -1, keepdims=True, initial=-np.inf)
        away = exact(x) - m
        terms = np.exp(away)
        total = np.sum(terms, -1, keepdims=True)
        log_total = np.log(total)
        error = exp_sum_error(level, x, terms)
        if logarithm:
            want = away - log_total
            bound = u * (2 * np.abs(away) + error + 2 * np.abs(log_total) + np.abs(want)) + tiny
        else:
            want = terms / total
            bound = u * (np.where(want > 0, want * np.abs(away), 0) + want * (4.1 + error)) + 3 * tiny
    with k.isa.use(level):
        got = (k.log_softmax if logarithm else k.softmax)(x, out=x if in_place else None)
    assert got.dtype == x.dtype
    assert (got is x) == in_place
    near = logarithm & np.isfinite(want) & (np.abs(want) > LARGEST[x.dtype.name])  # x - m is then -inf
    assert within(np.where(near, 0, exact(got)), np.where(near, 0, want), bound * SLACK)


@levels
@quick
@given(x=arrays(FLOATS), axis=st.sampled_from((None, -1)))
def test_logsumexp(level, x, axis):
    rows = x.reshape(1, -1) if axis is None else x
    with np.errstate(all="ignore"):
        m = np.max(exact(rows), -1, initial=-np.inf)
        shift = np.where(np.isfinite(m), m, 0)
        log_total = np.log(np.sum(np.exp(exact(rows) - shift[..., None]), -1))
        want = shift + log_total
        bound = exp_sum_error(level, rows, None) + 2 * np.abs(log_total) + np.abs(want)
    with k.isa.use(level):
        got = k.logsumexp(x, axis)
    got = np.reshape(got, want.shape)
    assert within(got, want, bound * ROUNDOFF[x.dtype.name] * SLACK)


@levels
def test_softmax_of_every_length_alone_and_beyond_nothing(level):
    rng = np.random.default_rng(4)
    with k.isa.use(level):
        for cache in (0, 1):
            _core.set_last_cache(cache)
            try:
                for n in [*range(201), 4099, 5000]:
                    x = unaligned(rng.standard_normal((3, n), np.float32), 4)
                    out = unaligned(np.full(3 * n + 2, 7, np.float32), 4)
                    terms = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True, initial=-9))
                    want = terms / terms.sum(-1, keepdims=True)
                    k.softmax(x, out=out[1:-1])
                    assert np.allclose(out[1:-1].reshape(3, n), want, rtol=1e-5, atol=0)
                    assert out[0] == out[-1] == 7
                    k.log_softmax(x, out=out[1:-1])
                    assert np.allclose(out[1:-1].reshape(3, n), np.log(want), rtol=1e-6, atol=1e-6)
                    assert out[0] == out[-1] == 7
                    k.cumsum(x, out=out[1:-1], threads=1)
                    assert np.allclose(out[1:-1].reshape(3, n), np.cumsum(x, -1), rtol=1e-4, atol=1e-4)
                    assert out[0] == out[-1] == 7
            finally:
                _core.set_last_cache(0)


# ---- long rows, which are cut, and threads


@levels
@pytest.mark.parametrize("shape", [(1_000_003,), (3, 400_001), (70_001, 17), (131_071,), (131_072,), (200_000, 5)])
def test_long_rows_and_many_rows_in_threads(level, shape):
    """The same bits for every number of threads; and what NumPy gives, roughly: the bounds are tested on small ones."""
    x = np.random.default_rng(5).standard_normal(shape, np.float32)
    wide = x.astype(np.float64)
    m = wide.max(-1, keepdims=True)
    terms = np.exp(wide - m)
    total = terms.sum(-1, keepdims=True)
    want = {
        k.sum: wide.sum(-1),
        k.mean: wide.mean(-1),
        k.max: x.max(-1),
        k.min: x.min(-1),
        k.logsumexp: (m + np.log(total))[..., 0],
        k.softmax: terms / total,
        k.log_softmax: wide - m - np.log(total),
    }
    with k.isa.use(level):
        for function, expected in want.items():
            one, two, three = (np.asarray(function(x, -1, threads=threads)) for threads in (1, 2, 3))
            assert np.array_equal(one, two)
            assert np.array_equal(one, three)
            assert np.allclose(one, expected, rtol=1e-5, atol=2e-3 if function is k.sum else 1e-5)
        whole = np.arange(np.prod(shape)).astype(np.int32).reshape(shape)
        for threads in (1, 2, 3):
            assert k.sum(whole, threads=threads) == np.sum(whole, dtype=np.int64)
            assert k.max(whole, threads=threads) == whole.size - 1


@levels
def test_special_values_in_long_rows(level):
    x = np.zeros(300_001, np.float32)
    cases = [
        ([np.nan], np.nan, np.nan, True),
        ([np.inf], np.inf, np.inf, True),
        ([np.inf, np.nan], np.nan, np.nan, True),
        ([-np.inf], 0, np.log(300_000), False),
    ]
    with k.isa.use(level):
        for values, largest, log_sum, is_nan in cases:
            y = x.copy()
            for place, value in zip((299_000, 7), values, strict=False):
                y[place] = value
            assert exactly(k.max(y), largest)
            assert exactly(k.logsumexp(y), np.float32(log_sum)) or np.isclose(k.logsumexp(y), log_sum, rtol=1e-6)
            assert np.isnan(k.softmax(y)).all() == np.isnan(k.log_softmax(y)).all() == is_nan
            assert np.isnan(k.softmax(y)).any() == np.isnan(k.log_softmax(y)).any() == is_nan
        nothing = np.full_like(x, -np.inf)
        assert k.logsumexp(nothing) == -np.inf
        assert np.isnan(k.softmax(nothing)).all()
        assert np.isnan(k.log_softmax(nothing)).all()


@levels
def test_special_values_are_what_they_are_in_torch(level):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(6)
    special = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-45, 3e38, -3e38, 88.8, -104.0], np.float32)
    x = np.where(rng.random((2000, 9)) < 0.5, rng.choice(special, (2000, 9)), rng.standard_normal((2000, 9)))
    x[:10] = -np.inf
    for dtype in FLOATS:
        y = x.astype(dtype)
        t = torch.from_numpy(y)
        with k.isa.use(level):
            for ours, theirs in [
                (k.softmax(y), torch.softmax(t, -1)),
                (k.log_softmax(y), torch.log_softmax(t, -1)),
                (k.logsumexp(y, -1), torch.logsumexp(t, -1)),
                (k.max(y, -1), torch.amax(t, -1)),
                (k.min(y, -1), torch.amin(t, -1)),
            ]:
                assert np.array_equal(np.isnan(ours), np.isnan(theirs.numpy()))
                assert np.allclose(ours, theirs.numpy(), rtol=1e-5, atol=1e-6, equal_nan=True)


# ---- arguments


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
    """There is no memory behind them: nothing may be done for each."""
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
