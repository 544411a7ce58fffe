"""Tiles: the software model against a reference, and the kernels over it, below AMX and as compiled for AMX.

Copies for AMX and AVX512_FP16 run on an emulator (tests/packages/tiles), which emulates their instructions when they
raise SIGILL, on AVX512_BF16 CPUs. tests/kernels/test_tile_code.py checks the machine code of those copies.
"""

import functools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import tiles_reference as reference
from support.arrays import EXAMPLES
from support.checkout import ROOT
from support.matmul_reference import bf16_of_floats, check_floats, check_halves, exact_u8s8, floats_of_bf16
from support.tiles_levels import HARDWARE, LEVELS, SUPPORTED
from support.tiles_library import COMPILERS, DOTS, FaultError, Library, address, build
from support.what_ran import X86

# Bytes at which dot products may overflow, saturate or change sign.
EXTREMES = np.array([0, 1, 127, 128, 129, 255], np.uint8)
# bfloat16: zeros, the smallest and largest denormal and normal number, one, infinity, NaN, and negative ones.
SPECIAL = np.array([0, 1, 0x7F, 0x80, 0x3F80, 0x7F7F, 0x7F80, 0x7FC0], np.uint16)
SPECIAL = np.concatenate([SPECIAL, SPECIAL | 0x8000])

relaxed = settings(
    deadline=None, max_examples=EXAMPLES // 2, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
sizes = st.integers(1, 16)
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """The library of a compiler, built at first use."""
    return functools.cache(lambda compiler: build(compiler, tmp_path_factory))


@pytest.fixture(params=COMPILERS)
def library(request, libraries) -> Library:
    return libraries(request.param)


@pytest.fixture(params=[(c, level) for c in COMPILERS for level in LEVELS], ids="-".join)
def tiles(request, libraries) -> Library:
    compiler, level = request.param
    return libraries(compiler).use(level)


def placed(array: np.ndarray, room: int, *, backwards: bool = False) -> np.ndarray:
    """The same rows, `room` bytes further apart than they are long, and from the last to the first if backwards."""
    memory = np.full((array.shape[0], array.shape[1] + room), 0x5A, np.uint8)
    view = memory[::-1, : array.shape[1]] if backwards else memory[:, : array.shape[1]]
    view[:] = array
    return view


def bytes_of(rng, shape, *, extremes=False):
    return rng.choice(EXTREMES, shape) if extremes else rng.integers(0, 256, shape, dtype=np.uint8)


@relaxed
@given(m=sizes, n=sizes, k=sizes, room=st.integers(0, 70), backwards=st.booleans(), seed=seeds, flags=st.integers(0, 7))
@pytest.mark.parametrize("kind", [kind for kind in DOTS if len(kind) == 4 and kind[0] in "us"])
def test_dot_products_of_bytes(tiles, kind, m, n, k, room, backwards, seed, flags):
    rng = np.random.default_rng(seed)
    a = bytes_of(rng, (m, 4 * k), extremes=flags & 1)
    b = bytes_of(rng, (k, 4 * n), extremes=flags & 1)
    # Sums close to the limits of int32, so that they wrap.
    c = rng.choice(np.array([0, -(2**31), 2**31 - 1], np.int32), (m, n)) if flags & 2 else np.zeros((m, n), np.int32)
    out = placed(c.view(np.uint8).reshape(m, 4 * n), room, backwards=backwards)
    tiles.dot(kind, out, placed(a, room), placed(b, room), zero=bool(flags & 2) < bool(flags & 4), once=bool(flags & 4))
    want = reference.dot_bytes(c, a, b, kind[0] == "s", kind[2] == "s")
    assert np.array_equal(np.ascontiguousarray(out).view(np.int32), want)
    assert (out.base if out.base is not None else out).reshape(m, -1)[:, 4 * n :].tolist() == [[0x5A] * room] * m


def bf16_numbers(rng, shape, spread):
    """Normal numbers of both signs, with exponents that spread so far; and, if that is 0, any bits."""
    if spread == 0:
        return np.where(
            rng.random(shape) < 0.05, rng.choice(SPECIAL, shape), rng.integers(0, 2**16, shape, dtype=np.uint16)
        ).astype(np.uint16)
    middle = int(rng.choice([127, 64, 70]))  # about 1, and where products are about the smallest normal numbers
    exponent = np.clip(middle + rng.integers(-spread, spread + 1, shape), 0, 254)
    bits = exponent << 7 | rng.integers(0, 128, shape) | rng.integers(0, 2, shape) << 15
    return bits.astype(np.uint16)


@relaxed
@given(m=sizes, n=sizes, k=sizes, seed=seeds, spread=st.sampled_from([0, 1, 6, 30]), zero=st.booleans())
def test_dot_products_of_bfloat16(tiles, m, n, k, seed, spread, zero):
    rng = np.random.default_rng(seed)
    a = bf16_numbers(rng, (m, 2 * k), spread).view(np.uint8)
    b = bf16_numbers(rng, (k, 2 * n), spread).view(np.uint8)
    c = np.zeros((m, n), np.float32)
    if not zero:
        c = (
            bf16_numbers(rng, (m, n), spread).astype(np.uint32) << 16 | rng.integers(0, 2**16, (m, n), np.uint32)
        ).view(np.float32)
    out = c.copy()
    tiles.dot("bf16", out.view(np.uint8), a, b, zero=zero)
    np.testing.assert_array_equal(out, reference.dot_bf16(c, a, b))  # NaN equals NaN, 0 equals -0


def test_tiny_sums_are_flushed_by_their_value_of_24_bits(tiles):
    # 2^-126 - 1.5 * 2^-151: rounded as a denormal it would be 2^-126, and stay; with 24 bits it is less: flushed.
    for factor, want in ((1.5, 0.0), (0.5, 2.0**-126), (1.0, 2.0**-126)):
        a = bf16_of_floats([[2.0**-63, 0, 2.0**-75, 0]])
        b = bf16_of_floats([[2.0**-63, 0], [-factor * 2.0**-76, 0]])
        out = np.zeros((1, 1), np.float32)
        tiles.dot("bf16", out.view(np.uint8), a.view(np.uint8), b.view(np.uint8))
        assert out[0, 0] == want, factor


@relaxed
@given(rows=sizes, columns=st.integers(1, 16).map(lambda dwords: 4 * dwords), room=st.integers(0, 9), seed=seeds)
def test_loads_and_stores_of_any_shape(tiles, rows, columns, room, seed):
    source = placed(bytes_of(np.random.default_rng(seed), (rows, columns)), 3)
    out = placed(np.zeros((rows, columns), np.uint8), room)
    tiles.dot("copy", out, source, source)
    assert np.array_equal(out, source)
    assert (out.base[:, columns:] == 0x5A).all()


@pytest.mark.parametrize("row", range(1, 17))
def test_the_example_of_the_programming_model(tiles, row):
    rng = np.random.default_rng(row)
    for cond in (False, True):
        buf, buf2 = (rng.integers(-128, 128, (16, 64), dtype=np.int8) for _ in range(2))
        tile = (buf if cond else buf2)[:row, : 4 * row].copy().view(np.uint8)
        want = buf.copy()
        want[:row, : 4 * row] = reference.dot_bytes(tile.view(np.int32), tile, tile, True, True).view(np.int8)
        tiles.api(cond, row, 4 * row, buf, buf2)
        assert np.array_equal(buf, want)


FAULTS = {
    "0 < rows": ((0, 16), "rows and columns or neither"),
    "0 < columns": ((4, 0), "rows and columns or neither"),
    "rows <= 16": ((17, 64), "1 to 16 rows"),
    "columns <= 64": ((16, 68), "1 to 64 bytes"),
    "negative": ((-1, 64), "1 to 16 rows"),
    "whole dwords": ((4, 15), "whole dwords"),
    "left dwords are right rows": ((4, 20), "not the right tile's rows"),
    "not configured": ((0, 0), "not configured"),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("level", [level for level in SUPPORTED if level not in HARDWARE])
def test_the_model_refuses_what_the_cpu_refuses(library, level, name):
    (row, col), message = FAULTS[name]
    buf = np.zeros((32, 64), np.int8)
    with pytest.raises(FaultError, match=message):
        library.use(level).api(True, row, col, buf, buf)


def shape(rows, columns):
    return np.zeros((rows, 4 * columns), np.uint8)


@pytest.mark.parametrize(
    ("c", "a", "b", "message"),
    [
        ((4, 4), (5, 4), (4, 4), "differ in rows"),
        ((4, 4), (4, 4), (4, 5), "differ in columns"),
        ((4, 4), (4, 5), (4, 4), "not the right tile's rows"),
    ],
)
@pytest.mark.parametrize("kind", ["u8s8", "bf16"])
def test_the_model_refuses_shapes_that_do_not_fit(library, kind, c, a, b, message):
    with pytest.raises(FaultError, match=message):
        library.use("DEFAULT").dot(kind, shape(*c), shape(*a), shape(*b))


def test_the_model_refuses_to_load_broken_dwords(library):
    row = np.zeros((1, 7), np.uint8)
    with pytest.raises(FaultError, match="whole dwords"):
        library.use("DEFAULT").dot("copy", row, row, row)


emulated_only = pytest.mark.skipif("AMX emulated" not in LEVELS, reason="emulating AMX takes the rest of its level")


@emulated_only
@pytest.mark.parametrize("name", ["rows <= 16", "whole dwords", "not configured"])
def test_the_emulator_refuses_too(library, name):
    (row, col), message = FAULTS[name]
    code = (
        "import sys, pathlib, numpy as np\n"
        "from support.tiles_library import Library\n"
        "buf = np.zeros((32, 64), np.int8)\n"
        "tiles = Library(pathlib.Path(sys.argv[1])).use('AMX emulated')\n"
        "tiles.api(True, int(sys.argv[2]), int(sys.argv[3]), buf, buf)\n"
    )
    command = [sys.executable, "-c", code, str(library.path), str(row), str(col)]
    done = subprocess.run(command, cwd=ROOT / "tests", capture_output=True, text=True, check=False)
    assert done.returncode == 77, done.stderr
    assert message in done.stderr


@emulated_only
def test_the_emulator_is_what_runs_amx(library):
    count = library.loaded.emulated_instructions
    buf = np.zeros((16, 64), np.int8)
    before = count()
    library.use("AVX512").api(True, 4, 16, buf, buf)
    assert count() == before
    library.use("AMX emulated").api(True, 4, 16, buf, buf)
    assert count() - before == len(["LDTILECFG", "load", "load", "load", "dot", "store", "TILERELEASE"])


@pytest.mark.parametrize("way", range(7))
def test_every_way_out_releases_the_tiles(tiles, way):
    data = np.ones(64, np.int8)
    if way == 6:
        data[3] = 0
    if way == 5:
        with pytest.raises(FaultError, match="way 5"):
            tiles.call("ways_out", way, address(data))
    else:
        assert tiles.loaded.ways_out(way, address(data)) == 0
    assert tiles.loaded.tiles_are_configured() == 0


# m, n, k: nothing, one, less than a tile, whole tiles, one more, more than a block of k, m and n
SIZES = [
    (0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (1, 40, 70), (40, 1, 70), (5, 7, 3), (15, 15, 63), (16, 16, 64),
    (17, 17, 65), (32, 32, 128), (33, 31, 100), (14, 64, 32), (29, 65, 33), (70, 530, 20), (260, 20, 40),
    (20, 40, 1100),
]  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_products(tiles, cell, request, size):
    level, _, emulated = request.node.callspec.params["tiles"][1].partition(" ")
    if emulated:
        cell(X86, level, "the tests' emulator")
    m, n, k = size
    rng = np.random.default_rng(m * 1000 + n + k)

    def matrix(of, rows, columns):  # with rows further apart than they are long
        return of((rows, columns + 3))[:, :columns]

    a = matrix(lambda s: rng.integers(0, 256, s, dtype=np.uint8), m, k)
    b = matrix(lambda s: rng.integers(-128, 128, s, dtype=np.int8), k, n)
    for name in ("tiles_u8s8", "matmul_u8s8"):
        assert np.array_equal(tiles.multiply(name, a, b, np.int32), exact_u8s8(a, b))
    a, b = (matrix(lambda s: bf16_of_floats(rng.standard_normal(s)), *s) for s in ((m, k), (k, n)))
    for name in ("tiles_bf16", "matmul_bf16"):
        check_floats(tiles.multiply(name, a, b, np.float32), floats_of_bf16(a), floats_of_bf16(b))
    a, b = (matrix(lambda s: rng.standard_normal(s).astype(np.float16), *s) for s in ((m, k), (k, n)))
    for name in ("halves_fp16", "matmul_fp16"):
        check_halves(tiles.multiply(name, a, b, np.float32), a.astype(np.float64), b.astype(np.float64))


def test_bytes_wrap_around(tiles):
    # 255 * -128 * 70000 is less than -2^31.
    a, b = np.full((3, 70000), 255, np.uint8), np.full((70000, 2), -128, np.int8)
    for name in ("tiles_u8s8", "matmul_u8s8"):
        assert np.array_equal(tiles.multiply(name, a, b, np.int32), exact_u8s8(a, b))


@relaxed
@given(seed=seeds, m=st.integers(1, 20), n=st.integers(1, 20), k=st.integers(1, 300), low=st.integers(-24, 14))
def test_halves_of_any_size(tiles, seed, m, n, k, low):
    # Exponents from `low` to 15, far apart in a row: those that scaling makes denormal are what the bound allows for.
    rng = np.random.default_rng(seed)
    a, b = ((rng.choice([-1, 1], s) * np.exp2(rng.uniform(low, 15.99, s))).astype(np.float16) for s in ((m, k), (k, n)))
    check_halves(tiles.multiply("halves_fp16", a, b, np.float32), a.astype(np.float64), b.astype(np.float64))


def test_halves_are_summed_as_fma_does(tiles):
    # The largest elements are between 16 and 32, so that nothing is scaled, and k is one run: the bits are known.
    rng = np.random.default_rng(3)
    for low in (-24, -12, 2):
        a, b = (
            (rng.choice([-1, 1], s) * np.exp2(rng.uniform(low, 4, s))).astype(np.float16) for s in ((5, 32), (32, 6))
        )
        a[:, 3], b[7] = 17, -31
        got = tiles.multiply("halves_fp16", a, b, np.float32)
        assert np.array_equal(got, reference.dot_halves(a, b))


def test_halves_of_one_sign_are_off_by_less_than_the_bound_but_not_by_nothing(tiles):
    # Sums of 32 products of about 1 + 2^-10 lose the last bits, all in one direction: half of the bound and more.
    k = 3200
    a, b = np.full((2, k), 1 + 2.0**-10, np.float16), np.full((k, 2), 1.5 + 2.0**-10, np.float16)
    got = tiles.multiply("halves_fp16", a, b, np.float32)
    check_halves(got, a.astype(np.float64), b.astype(np.float64))
    assert 1e-5 < abs(got[0, 0] / (a.astype(np.float64) @ b.astype(np.float64))[0, 0] - 1) < 0.016


def test_halves_keep_infinity_and_nan(tiles):
    inf, nan = np.inf, np.nan
    a = np.array([[1, inf, 0], [1, 0, 0], [60000, 60000, 60000], [nan, 0, 0]], np.float16)
    b = np.array([[1, 60000, 0], [1, 60000, 1], [0, 60000, inf]], np.float16)
    for name in ("halves_fp16", "matmul_fp16"):
        got = tiles.multiply(name, a, b, np.float32)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=0.016)
