"""float32 to bfloat16 and float16 and back: every level gives the bits of NumPy, or of the rounding rule."""

import isagen_kernels as k
import numpy as np
import pytest
from hypothesis import given
from isagen_kernels import _core

from support.arrays import LEVELS, arrays, quick, unaligned
from support.flushing import FLAGS, flushing

HIGH = np.arange(1 << 16, dtype=np.uint32) << 16
LOW = (0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF, 0x2000, 0x3000, 0x7FFF, 0x8000, 0x8001, 0xFFFF)


@pytest.fixture(scope="module")
def floats():
    """Bits of floats: all upper halves, with the lower halves that matter to rounding, and random ones."""
    rng = np.random.default_rng(1)
    return np.concatenate([*(HIGH | low for low in LOW), rng.integers(0, 1 << 32, 1_000_003, dtype=np.uint32)])


def as_bf16(bits):
    wide = bits.astype(np.uint64)
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return (np.where(nan, wide | 0x400000, wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16)


def as_fp16(bits):
    with np.errstate(over="ignore", under="ignore"):
        rounded = bits.view(np.float32).astype(np.float16).view(np.uint16)
    nan = (bits & 0x7FFFFFFF) > 0x7F800000
    return np.where(nan, bits >> 16 & 0x8000 | 0x7E00 | bits >> 13 & 0x3FF, rounded).astype(np.uint16)


@pytest.mark.smoke
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("kernel", "rule"), [(k.cvt_fp32_to_bf16, as_bf16), (k.cvt_fp32_to_fp16, as_fp16)])
def test_rounding(level, kernel, rule, floats):
    with k.isa.use(level):
        got = kernel(floats.view(np.float32))
    assert np.array_equal(got.view(np.uint16), rule(floats))


@pytest.mark.parametrize("level", LEVELS)
def test_back(level):
    bits = np.arange(1 << 16, dtype=np.uint16)
    with k.isa.use(level):
        assert np.array_equal(k.cvt_bf16_to_fp32(bits).view(np.uint32), HIGH)
        got = k.cvt_fp16_to_fp32(bits.view(np.float16)).view(np.uint32)
        assert np.array_equal(k.cvt_fp16_to_fp32(bits).view(np.uint32), got)
    nan = (bits & 0x7FFF) > 0x7C00
    assert np.array_equal(got[~nan], bits.view(np.float16).astype(np.float32).view(np.uint32)[~nan])
    wide = bits[nan].astype(np.uint32)
    assert np.array_equal(got[nan], (wide & 0x8000) << 16 | 0x7FC00000 | (wide & 0x3FF) << 13)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("cache", [0, 1])
def test_every_size_and_nothing_beyond(level, cache):
    """Also past the caches: with a cache of one byte, every result is."""
    rng = np.random.default_rng(2)
    _core.set_last_cache(cache)
    try:
        with k.isa.use(level):
            for n in [*range(201), 1000, 4099]:
                for offset in (0, 4, 2):
                    x = unaligned(rng.standard_normal(n, np.float32), offset)
                    for kernel, rule in ((k.cvt_fp32_to_bf16, as_bf16), (k.cvt_fp32_to_fp16, as_fp16)):
                        out = unaligned(np.full(n + 2, 7, np.uint16), offset // 2)
                        assert kernel(x, out[1:-1]) is not None
                        assert out[0] == out[-1] == 7
                        assert np.array_equal(out[1:-1], rule(x.view(np.uint32)))
                    back = unaligned(np.full(n + 2, 7, np.float32), offset)
                    k.cvt_bf16_to_fp32(out[1:-1], back[1:-1])
                    assert back[0] == back[-1] == 7
                    assert np.array_equal(back[1:-1].view(np.uint32), out[1:-1].astype(np.uint32) << 16)
                    k.cvt_fp16_to_fp32(out[1:-1], back[1:-1])
                    assert back[0] == back[-1] == 7
                    assert np.array_equal(back[1:-1], out[1:-1].copy().view(np.float16).astype(np.float32))
    finally:
        _core.set_last_cache(0)


@pytest.mark.parametrize("level", LEVELS)
@quick
@given(x=arrays())
def test_any_array(level, x):
    bits = x.copy().view(np.uint32)
    with k.isa.use(level):
        assert np.array_equal(k.cvt_fp32_to_bf16(x), as_bf16(bits))
        assert np.array_equal(k.cvt_fp32_to_fp16(x).view(np.uint16), as_fp16(bits))


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("level", LEVELS)
def test_bits_do_not_depend_on_flushing(level, flags, floats):
    """Denormals are rounded also in threads whose MXCSR makes arithmetic treat them as zeros."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    denormals = floats & 0x807FFFFF
    for some in (floats, denormals):
        with k.isa.use(level), flushing(flags):
            bf16 = k.cvt_fp32_to_bf16(some.view(np.float32), threads=1)
            fp16 = k.cvt_fp32_to_fp16(some.view(np.float32), threads=1).view(np.uint16)
            from_bf16 = k.cvt_bf16_to_fp32(bits, threads=1).view(np.uint32)
            from_fp16 = k.cvt_fp16_to_fp32(bits, threads=1).view(np.uint32)
        assert np.array_equal(bf16, as_bf16(some))
        assert np.array_equal(fp16, as_fp16(some))
        assert np.array_equal(from_bf16, HIGH)
        with k.isa.use(level):
            assert np.array_equal(from_fp16, k.cvt_fp16_to_fp32(bits).view(np.uint32))


def test_results():
    for shape in [(), (0,), (3,), (2, 3), (2, 1, 4), (0, 3), (2, 0, 3)]:
        x = np.ones(shape, np.float32)
        bf16, fp16 = k.cvt_fp32_to_bf16(x), k.cvt_fp32_to_fp16(x)
        assert (type(bf16), bf16.shape, bf16.dtype) == (np.ndarray, shape, np.uint16)
        assert (type(fp16), fp16.shape, fp16.dtype) == (np.ndarray, shape, np.float16)
        assert (bf16 == 0x3F80).all()
        assert (fp16 == 1).all()
        assert k.cvt_bf16_to_fp32(bf16).dtype == k.cvt_fp16_to_fp32(fp16).dtype == np.float32
        view = k.cvt_fp32_to_fp16(memoryview(x))
        assert isinstance(view, memoryview)
        assert view.format == "H"
        assert view.shape == (shape or (1,) if x.size else (0,))
