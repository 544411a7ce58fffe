"""Prefix sums, reductions and softmax against NumPy in higher precision, within bounds that follow from the roundings.

u is the unit roundoff of the dtype. If each term goes through at most r additions, the error of a sum is at most
r * u * sum(|terms|) (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), to first order; the factor SLACK is
for the rest.
"""

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
    """x in a type whose rounding errors are negligible here."""
    return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


def scan_roundings(level, columns, width):
    """One addition per vector before, log2(width) within, one that joins them."""
    return -(-columns // width) + np.log2(width) + 1


def sum_roundings(columns, width, ways=8, piece=64):
    """Accumulators over pieces of so many vectors each, log2 of their lanes, then float64, and the last rounding.

    A rest that does not fill all accumulators is added to the last.
    """
    return min(columns // (ways * width), piece) + ways + np.log2(ways * width) + 1


# ---- prefix sums


@pytest.mark.smoke
@levels
@quick
@example(x=np.array([-3e38, -3e38, 3e38, 3e38], np.float32))
@given(x=arrays(FLOATS))
def test_cumsum(level, x):
    with k.isa.use(level):
        got = k.cumsum(x, -1, threads=1)
    with np.errstate(all="ignore"):
        want = np.cumsum(exact(x), -1)
        sizes = np.cumsum(np.abs(np.nan_to_num(exact(x), posinf=0, neginf=0)), -1)
    bound = sizes * (scan_roundings(level, x.shape[-1], lanes(level, x)) * ROUNDOFF[x.dtype.name] * SLACK)
    # Partial sums come near the largest number, so they may overflow at other places than sequential sums.
    near = sizes > LARGEST[x.dtype.name] / 4
    assert within(np.where(near, 0, got), np.where(near, 0, want), bound)


@levels
@quick
@given(x=arrays(("int32",)))
def test_cumsum_of_integers_wraps(level, x):
    with k.isa.use(level):
        assert np.array_equal(k.cumsum(x, -1), np.cumsum(x, -1, dtype=np.int32))


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
            assert np.array_equal(k.cumsum(both, -1, threads=threads), np.cumsum(both, -1, dtype=np.int32))


# ---- reductions


@pytest.mark.smoke
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


@pytest.mark.smoke
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


@pytest.mark.smoke
@levels
@quick
@given(
    dtype=st.sampled_from(("float32", "float64", "int32", "int8", "uint8")),
    outer=st.integers(1, 3),
    rows=st.sampled_from((1, 2, 3, 4, 7, 8, 9, 31, 300)),
    columns=st.sampled_from((1, 15, 16, 17, 64, 100, 511, 512, 513, 1027)),
    specials=st.lists(st.sampled_from((np.nan, np.inf, -np.inf, -0.0)), max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_columns(level, dtype, outer, rows, columns, specials, seed):
    """An axis before the last: at most 7 additions of floats for the terms of eight rows, then float64."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((outer, rows, columns)) * 40).astype(dtype)
    if dtype in FLOATS:
        for value in specials:
            x.flat[rng.integers(x.size)] = value
    x = unaligned(x, int(rng.choice((0, 1, 4, 16))))
    with k.isa.use(level), np.errstate(all="ignore"):
        assert exactly(k.max(x, 1), np.max(x, 1))
        assert exactly(k.min(x, 1), np.min(x, 1))
        if dtype == "int32":
            assert np.array_equal(k.sum(x, 1), np.sum(x, 1, dtype=np.int64))
        elif dtype in FLOATS:
            sizes = np.sum(np.abs(np.nan_to_num(exact(x), posinf=0, neginf=0)), 1)
            roundings = 5 + (rows / 8 + 8 if dtype == "float64" else 0)
            bound = sizes * (roundings * ROUNDOFF[dtype] * SLACK)
            if columns > 15:
                assert within(k.sum(x, 1), np.sum(exact(x), 1), bound)
                assert within(k.mean(x, 1), np.sum(exact(x), 1) / rows, bound / rows)


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


@levels
def test_extremes_beyond_the_first_cache(level):
    """AVX512 loads vectors by halves there."""
    with k.isa.use(level):
        for dtype in ("float32", "float64", "int32", "int8", "uint8"):
            n = 131072 // np.dtype(dtype).itemsize + 131
            x = np.full(n, 50, dtype)
            for place in (*range(0, 131, 5), *range(n - 131, n, 5), n - 1):
                x[place] = 51
                assert (k.max(x), k.min(x)) == (51, 50)
                x[place] = 49
                assert (k.max(x), k.min(x)) == (50, 49)
                if dtype in FLOATS:
                    x[place] = np.nan
                    assert np.isnan([k.max(x), k.min(x)]).all()
                x[place] = 50


def exp_sum_error(level, x, terms):
    """The relative error of sum(exp(x - m)): of exp's argument, of exp itself (1.02 units of 2 u), of the additions.

    x - m is off by u |x - m|, and so is its exp; on average over the terms |x - m| is log(columns) at most, since that
    less the logarithm of the sum is an entropy.
    """
    columns = max(x.shape[-1], 1)
    return np.log(columns) + 2.1 + sum_roundings(columns, lanes(level, x), 4, 128)


@pytest.mark.smoke
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
                    inner = out[1:-1].reshape(3, n)
                    terms = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True, initial=-9))
                    want = terms / terms.sum(-1, keepdims=True)
                    k.softmax(x, out=inner)
                    assert np.allclose(inner, want, rtol=1e-5, atol=0)
                    assert out[0] == out[-1] == 7
                    k.log_softmax(x, out=inner)
                    assert np.allclose(inner, np.log(want), rtol=1e-6, atol=1e-6)
                    assert out[0] == out[-1] == 7
                    k.cumsum(x, -1, out=inner, threads=1)
                    assert np.allclose(inner, np.cumsum(x, -1), rtol=1e-4, atol=1e-4)
                    assert out[0] == out[-1] == 7
            finally:
                _core.set_last_cache(0)


# ---- long rows, which are cut, and threads


@levels
@pytest.mark.parametrize("shape", [(1_000_003,), (3, 400_001), (70_001, 17), (131_071,), (131_072,), (200_000, 5)])
def test_long_rows_and_many_rows_in_threads(level, shape):
    """The same bits for every number of threads, close to NumPy's result: the bounds are tested on small arrays."""
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
