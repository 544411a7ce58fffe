"""Matrix products from Python: every supported level against NumPy, any sizes, threads, and bad arguments.

Tolerances are in tests/support/matmul_reference.py. The AMX and AVX512_FP16 copies run in tests/kernels/test_tiles.py.
"""

import array
import os
import re
import subprocess
import sys

import isagen_kernels
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isagen_kernels import matmul_bf16, matmul_fp16, matmul_u8s8

from isagen.processors.table import load_table
from support.arrays import EXAMPLES, unaligned
from support.checkout import ROOT
from support.flushing import FLAGS, flushing
from support.levels import supported_levels
from support.matmul_reference import bf16_of_floats, check_floats, check_halves, exact_u8s8, floats_of_bf16
from support.pairs import paired
from support.projects import PACKAGES, need

LEVELS = supported_levels()
PRODUCTS = {matmul_u8s8: (np.uint8, np.int8, np.int32), matmul_bf16: (np.uint16, np.uint16, np.float32)}
PRODUCTS[matmul_fp16] = (np.float16, np.float16, np.float32)

sizes = st.one_of(st.integers(0, 70), st.integers(0, 300))


@pytest.fixture(params=LEVELS)
def level(request):
    with isagen_kernels.isa.use(request.param):
        yield request.param


def multiplied(product, a, b, threads=1):
    """Run a product into memory at an odd address, with guards before and behind."""
    dtype = PRODUCTS[product][2]
    memory = unaligned(np.full(a.shape[0] * b.shape[1] + 2, 77, dtype), 1)
    out = memory[1:-1].reshape(a.shape[0], b.shape[1])
    assert product(a, b, out=out, threads=threads) is out
    assert memory[0] == memory[-1] == 77
    return out


def check(product, a, b, threads=1):
    """Run a product and compare it with NumPy's."""
    got = multiplied(product, a, b, threads)
    if product is matmul_u8s8:
        assert np.array_equal(got, exact_u8s8(a, b))
    elif product is matmul_bf16:
        check_floats(got, floats_of_bf16(a), floats_of_bf16(b))
    elif isagen_kernels.isa.kernels["matmul_fp16_stub"]["AVX512_FP16"] == "selected":
        check_halves(got, a.astype(np.float64), b.astype(np.float64))
    else:
        check_floats(got, a.astype(np.float64), b.astype(np.float64))
    return got


def operands(product, m, n, k, seed):
    rng = np.random.default_rng(seed)
    if product is matmul_u8s8:
        of = [lambda s: rng.integers(0, 256, s, dtype=np.uint8), lambda s: rng.integers(-128, 128, s, dtype=np.int8)]
    elif product is matmul_bf16:
        of = [lambda s: bf16_of_floats(rng.standard_normal(s))] * 2
    else:
        of = [lambda s: rng.standard_normal(s).astype(np.float16)] * 2
    return unaligned(of[0]((m, k)), 1), unaligned(of[1]((k, n)), 1)


@pytest.mark.smoke
@settings(deadline=None, max_examples=EXAMPLES // 2)
@given(m=sizes, n=sizes, k=sizes, seed=st.integers(0, 2**32 - 1), threads=st.integers(1, 3))
@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.__name__)
@pytest.mark.parametrize("name", LEVELS)
def test_products_of_any_size(name, product, m, n, k, seed, threads):
    with isagen_kernels.isa.use(name):
        check(product, *operands(product, m, n, k, seed), threads)


# Beyond the blocks that are packed at once: 256 rows, 512 columns, 256 to 1024 elements of k.
@pytest.mark.parametrize(
    ("product", "size"),
    paired(PRODUCTS, [(515, 37, 1031), (61, 1027, 300), (1, 2000, 700), (2000, 1, 700), (259, 515, 2051)]),
    ids=lambda value: getattr(value, "__name__", None),
)
def test_large_products(level, product, size):
    check(product, *operands(product, *size, seed=sum(size)), threads=2)


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.__name__)
def test_results_do_not_depend_on_threads_nor_on_where_an_element_lies(level, product):
    a, b = operands(product, 150, 210, 1100, seed=5)
    whole = multiplied(product, a, b).copy()
    for threads in (2, 3, 7):
        assert np.array_equal(multiplied(product, a, b, threads), whole)
    part = multiplied(product, a[37:42].copy(), b[:, 61:100].copy())
    assert np.array_equal(part, whole[37:42, 61:100])


@pytest.mark.smoke
def test_bytes_are_not_saturated(level):
    # Pairs of products exceed int16, the limit of VPMADDUBSW; sums of 70000 exceed int32, and wrap.
    for x, y in ((255, 127), (255, -128)):
        for k in (1, 2, 3, 4, 5, 70000):
            a, b = np.full((3, k), x, np.uint8), np.full((k, 5), y, np.int8)
            assert np.array_equal(matmul_u8s8(a, b), exact_u8s8(a, b)), (x, y, k)


def test_infinity_and_nan(level):
    inf, nan = np.inf, np.nan
    a = np.array([[1, inf, 0], [1, 0, 0], [3, -inf, inf], [nan, 0, 0], [0, 1, 1]], np.float32)
    b = np.array([[1, 3, 0], [1, 3, 1], [0, 3, inf]], np.float32)
    with np.errstate(invalid="ignore"):
        want = a @ b
    np.testing.assert_array_equal(matmul_bf16(bf16_of_floats(a), bf16_of_floats(b)), want)
    np.testing.assert_array_equal(matmul_fp16(a.astype(np.float16), b.astype(np.float16)), want)


def test_denormals(level):
    # Halves are exact at every level; denormal bfloat16 may count as zero at levels with instructions for it.
    halves = np.array([[1, 2, 1023, 0x8001]], np.uint16).view(np.float16)
    ones = np.ones((4, 3), np.float16)
    np.testing.assert_allclose(np.asarray(matmul_fp16(halves, ones)), 1025 * 2.0**-24, rtol=2**-6)
    tiny = np.array([[1, 0x7F]], np.uint16)
    got = np.asarray(matmul_bf16(tiny, bf16_of_floats(np.ones((2, 1)))))[0, 0]
    assert got in (0, 128 * 2.0**-133)
    copies = isagen_kernels.isa.kernels["matmul_bf16_stub"]
    if not any(copies.get(one) == "selected" for one in ("AVX512_BF16", "AMX", "BF16", "SVE256")):
        assert got != 0


@pytest.mark.parametrize("flags", FLAGS)
def test_halves_do_not_depend_on_flushing(level, flags):
    """Denormal halves count, also in threads whose MXCSR makes denormal floats zeros."""
    a, b = operands(matmul_fp16, 33, 40, 70, seed=3)
    a.view(np.uint16)[...] &= 0x83FF
    want = multiplied(matmul_fp16, a, b)
    assert (want != 0).any()
    with flushing(flags):
        got = multiplied(matmul_fp16, a, b)
    assert np.array_equal(got, want)


def test_new_results():
    a, b = operands(matmul_u8s8, 3, 5, 7, seed=1)
    for result in (matmul_u8s8(a, b), matmul_u8s8(memoryview(a), b)):
        assert type(result) in (np.ndarray, memoryview)
        assert np.array_equal(result, exact_u8s8(a, b))
    assert matmul_u8s8(a, b).dtype == np.int32
    assert matmul_bf16(a.astype(np.uint16), b.astype(np.int16)).dtype == np.float32
    for m, n in ((0, 5), (3, 0)):
        a, b = np.zeros((m, 2), np.uint8), np.zeros((2, n), np.int8)
        assert matmul_u8s8(a, b).shape == (m, n)
        if m:  # memoryviews of two axes cannot be empty
            assert len(matmul_u8s8(memoryview(a), b)) == 0
    assert np.array_equal(matmul_u8s8(np.zeros((3, 0), np.uint8), np.zeros((0, 5), np.int8)), np.zeros((3, 5)))


def test_buffers_of_the_standard_library():
    a = memoryview(array.array("B", [1, 2, 3, 4])).cast("B").cast("B", (2, 2))
    b = memoryview(array.array("b", [1, 0, 0, -1])).cast("B").cast("b", (2, 2))
    assert matmul_u8s8(a, b).tolist() == [[1, -2], [3, -4]]


FLOAT64 = r"must hold .*, but holds float64(; .* rounds it)?$"


def good(product):
    a, b, c = PRODUCTS[product]
    return {"a": np.ones((2, 3), a), "b": np.ones((3, 4), b), "out": np.zeros((2, 4), c)}


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.__name__)
@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        (
            "a",
            lambda x: x.astype(np.float64),
            TypeError,
            f"^a {FLOAT64}",
        ),
        (
            "b",
            lambda x: x.astype(np.float64),
            TypeError,
            f"^b {FLOAT64}",
        ),
        ("out", lambda x: x.astype(np.float64), TypeError, "^out must hold .*, but holds float64$"),
        ("a", lambda x: [[1]], TypeError, "^a must be an array or another object with a buffer, not list"),
        ("a", lambda x: x.T.copy().T, ValueError, "^a must be C-contiguous"),
        ("b", lambda x: x[:, ::-1], ValueError, "^b must be C-contiguous"),
        ("out", lambda x: x.T.copy().T, ValueError, "^out must be C-contiguous"),
        ("a", lambda x: x.ravel(), ValueError, "^a must have two axes, but has 1"),
        ("b", lambda x: x[None], ValueError, "^b must have two axes, but has 3"),
        (
            "out",
            lambda x: x.ravel(),
            ValueError,
            r"^out must have the shape \(2, 4\), that of the product, but has \(8,\)",
        ),
        ("b", lambda x: x[:2], ValueError, r"^b must have as many rows as a has columns \(3\), but has 2"),
        (
            "out",
            lambda x: x[:, :3].copy(),
            ValueError,
            r"^out must have the shape \(2, 4\), that of the product, but has \(2, 3\)",
        ),
        ("out", lambda x: np.zeros((4, 2), x.dtype), ValueError, r"^out must have the shape \(2, 4\)"),
    ],
)
def test_bad_arguments(product, name, value, error, message):
    arguments = good(product)
    product(**arguments)
    arguments[name] = value(arguments[name])
    with pytest.raises(error, match=message):
        product(**arguments)


def test_out_must_be_writable_and_apart():
    arguments = good(matmul_fp16)
    arguments["out"].setflags(write=False)
    with pytest.raises((BufferError, ValueError), match="out"):
        matmul_fp16(**arguments)
    memory = np.ones(16, np.float16)
    arguments = {"a": memory[:6].reshape(2, 3), "b": np.ones((3, 4), np.float16), "out": memory.view(np.float32)}
    arguments["out"] = arguments["out"].reshape(2, 4)
    with pytest.raises(ValueError, match="out overlaps a"):
        matmul_fp16(**arguments)


@pytest.mark.parametrize("threads", [0, -1, 1025])
def test_bad_threads(threads):
    with pytest.raises(ValueError, match="threads must be None or 1 to 1024"):
        matmul_u8s8(**good(matmul_u8s8), threads=threads)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """The program that prints the division of a product among threads."""
    need("g++")
    program = tmp_path_factory.mktemp("parts") / "parts"
    command = ["g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsanitize=undefined"]
    command += ["-I", ROOT / "python", ROOT / "tests/cpp/matmul_parts.cpp", "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    return lambda *numbers: (
        subprocess.run([str(program), *map(str, numbers)], capture_output=True, text=True, check=False).stdout
    )


def test_no_division_is_faster(parts):
    assert parts() == "good\n"


@pytest.mark.parametrize(
    ("m", "n", "threads", "grid", "largest"),
    [
        (64, 64, 4, "4 x 1", 16 * 64),
        (128, 128, 8, "4 x 2", 32 * 64),
        (512, 512, 7, "7 x 1", 74 * 512),
        (512, 512, 4, "2 x 2", 256 * 256),
        (1, 1, 16, "1 x 1", 1),
        (1, 4096, 3, "1 x 3", 22 * 64),
        (3, 64, 2, "2 x 1", 2 * 64),
        (4, 64, 3, "2 x 1", 2 * 64),
        (1, 512, 7, "1 x 4", 128),
        (1, 200, 3, "1 x 3", 64 + 8),
    ],
)
def test_divisions(parts, m, n, threads, grid, largest):
    assert parts(m, n, threads) == f"{grid}, at most {largest}\n"


# Replaces isagen's header, for one level.
DISPATCH = """
#define ISA_DECLARE_DISPATCH(type, stub) extern type stub;
#define ISA_REGISTER_DISPATCH(stub, function) decltype(stub) stub = function;
"""


@pytest.mark.parametrize(
    ("compiler", "arguments", "emulator"),
    [
        ("g++", ["-DVECTOR_BYTES=0", "-fsanitize=undefined", "-fno-sanitize-recover"], []),
        ("aarch64-linux-gnu-g++", ["-static"], ["qemu-aarch64"]),
        ("aarch64-linux-gnu-g++", ["-static", "-DVECTOR_BYTES=0"], ["qemu-aarch64"]),
    ],
)
def test_other_cpus(tmp_path, compiler, arguments, emulator):
    products_agree(tmp_path, [compiler, *arguments], emulator)


# The instructions that products have at the levels of arm64, of bytes, bfloat16 and halves.
ARM64_DOTS = {
    "DOTPROD": ["sdot"],
    "FP16": ["sdot"],
    "FP16FML": ["sdot", "fmlal"],
    "I8MM": ["usmmla", "fmlal"],
    "BF16": ["usmmla", "bfmmla", "fmlal"],
    "SVE256": ["usmmla", "bfmmla"],
    "SVE2": ["usmmla", "bfmmla", "fmlal"],
}


@pytest.mark.parametrize(
    ("level", "compiler"), paired(ARM64_DOTS, ["aarch64-linux-gnu-g++", "clang++-14", "clang++-16"])
)
def test_levels_of_arm64(tmp_path, compiler, level):
    need("aarch64-linux-gnu-g++", "aarch64-linux-gnu-objdump")
    table = load_table("arm64", ROOT)
    flags = [*table.level(level).flags["gnu"], *(f"-D{macro}" for macro in table.defines(level))]
    target = ["--target=aarch64-linux-gnu"] if compiler.startswith("clang") else []
    command = [compiler, *target, *flags, "-static"]
    products_agree(tmp_path, command, ["qemu-aarch64", "-cpu", "max,sve-max-vq=2"])
    code = subprocess.run(
        ["aarch64-linux-gnu-objdump", "-d", str(tmp_path / "products")], capture_output=True, text=True, check=True
    ).stdout
    for instruction in ARM64_DOTS[level]:
        assert re.search(rf"\t{instruction}\t{'z' if level == 'SVE256' else 'v'}\d", code), instruction


def products_agree(tmp_path, compilation, emulator):
    """Build the program with all products for one level, run it, and check what it says."""
    need(compilation[0], *emulator[:1])
    (tmp_path / "isa_dispatch.h").write_text(DISPATCH, encoding="utf-8")
    sources = [PACKAGES / "tiles" / name for name in ("main.cpp", "portable.cpp")]
    sources += [ROOT / "kernels" / f"matmul_{name}.cpp" for name in ("u8s8", "bf16", "fp16")]
    command = [*compilation, "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DPORTABLE"]
    command += [f"-I{tmp_path}", f"-I{ROOT / 'kernels'}", *map(str, sources), "-o", str(tmp_path / "products")]
    subprocess.run(command, check=True)
    done = subprocess.run(
        [*emulator, str(tmp_path / "products"), "DEFAULT"], capture_output=True, text=True, check=False
    )
    assert done.stdout == "DEFAULT agrees\n", done.stderr


@pytest.mark.parametrize(("cpu", "level"), [("Nehalem", "DEFAULT"), ("Haswell-v4", "AVX2")])
def test_emulated_cpus(cpu, level):
    need("qemu-x86_64")
    code = (
        "import array, isagen_kernels as k\n"
        "def matrix(code, items, *shape): return memoryview(array.array(code, items)).cast('B').cast(code, shape)\n"
        "a = matrix('B', [i % 256 for i in range(9 * 70)], 9, 70)\n"
        "b = matrix('b', [i % 256 - 128 for i in range(70 * 33)], 70, 33)\n"
        "c = k.matmul_u8s8(a, b, threads=1)\n"
        "print(all(c[i, j] == sum(a[i, p] * b[p, j] for p in range(70)) for i in range(9) for j in range(33)))\n"
        "ones = matrix('H', [0x3f80] * 630, 9, 70), matrix('H', [0x4000] * 2310, 70, 33)\n"
        "print(set(k.matmul_bf16(*ones, threads=1).cast('B').cast('f').tolist()), k.isa.current)\n"
        "ones = matrix('H', [0x3c00] * 630, 9, 70), matrix('H', [0x4000] * 2310, 70, 33)\n"
        "print(set(k.matmul_fp16(*ones, threads=1).cast('B').cast('f').tolist()))\n"
    )
    command = ["qemu-x86_64", "-cpu", cpu, sys.executable, "-c", code]
    done = subprocess.run(command, env={**os.environ}, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["True", f"{{140.0}} {level}", "{140.0}"], done.stderr
