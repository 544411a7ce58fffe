"""What an error about a type of items says to call gives NumPy's numbers; where nothing does, no hint is given."""

import re

import isagen_kernels as k
import numpy as np
import pytest

HELD = [
    np.array([True] * 300),
    np.arange(-100, 100, dtype=np.int8),
    np.arange(200, dtype=np.uint8),
    np.array([2**15 - 1, -(2**15), 7], np.int16),
    np.array([2**16 - 1, 9], np.uint16),
    np.array([2**32 - 1, 1], np.uint32),
    np.array([2**40, 1], np.int64),
    np.array([2**50, 3], np.uint64),
    np.array([2**30, 1], np.int32),
    np.array([1.5, 2048], np.float16),
    np.array([1.5, 2**60], np.longdouble),
]
FUNCTIONS = {
    k.sum: np.sum,
    k.mean: np.mean,
    k.max: np.max,
    k.min: np.min,
    k.cumsum: np.cumsum,
    k.logsumexp: lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))),
    k.softmax: lambda x: np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x))),
}


@pytest.mark.parametrize("src", HELD, ids=lambda src: src.dtype.name)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_the_hint_gives_the_numbers_of_numpy(function, src):
    wanted = FUNCTIONS[function](src.astype(np.longdouble if src.dtype.kind == "f" else object).astype(np.float64))
    try:
        found = function(src)
    except TypeError as problem:
        hint = re.search(r"; (.+?) (converts it|rounds it|reads it|is exact up to 2\*\*53)$", str(problem))
        call = f"function({hint[1]})" if "src" in hint[1] else f"function(src, {hint[1]})"
        found = eval(call, {"np": np, "src": src, "function": function})
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize(
    ("call", "held"),
    [
        (lambda: k.sum(np.ones(2, np.complex64)), "complex64"),
        (lambda: k.sum(np.ones(2, np.complex128)), "complex128"),
        (lambda: k.matmul_u8s8(np.full((2, 2), -1, np.int8), np.ones((2, 2), np.int8)), "int8"),
        (lambda: k.matmul_u8s8(np.ones((2, 2)), np.ones((2, 2), np.int8)), "float64"),
        (lambda: k.matmul_u8s8(np.ones((2, 2), np.uint8), np.ones((2, 2), np.uint8)), "uint8"),
    ],
)
def test_no_hint_where_numbers_would_change(call, held):
    with pytest.raises(TypeError, match=rf"but holds {held}$"):
        call()


def test_the_other_byte_order_is_converted():
    for code in (">f4", ">i4", ">u1"):
        src = np.arange(5).astype(code)
        try:
            found = k.sum(src)
        except TypeError as problem:
            hint = re.search(r"; (.+?) converts it$", str(problem))
            found = eval(f"k.sum({hint[1]})", {"k": k, "np": np, "src": src})
        assert found == 10


def test_bfloat16_of_floats():
    for dtype, wanted in ((np.float32, True), (np.float64, True), (np.int32, False)):
        src = np.array([1.5, 2], dtype)
        with pytest.raises(TypeError, match=f"but holds {src.dtype.name}") as caught:
            k.cvt_bf16_to_fp32(src)
        hint = re.search(r"; (.+?) rounds it$", str(caught.value))
        assert bool(hint) == wanted
        if hint:
            bits = eval(f"k.{hint[1]}", {"k": k, "np": np, "src": src})
            assert k.cvt_bf16_to_fp32(bits).tolist() == [1.5, 2]


def test_what_becomes_an_array():
    for src in ([1.5, 2], (1.5, 2), 2.5):
        with pytest.raises(TypeError, match=r"; np.asarray\(src\) makes one$"):
            k.sum(src)
        assert k.sum(np.asarray(src)) == np.sum(src)
    for src in (None, "abc", {}, range(3)):
        with pytest.raises(TypeError, match=r"another object with a buffer, not \w+$"):
            k.sum(src)


def test_bytes_are_numbers_of_a_byte():
    with pytest.raises(TypeError, match=r"; np.frombuffer\(src, np.uint8\).astype\(np.int32\) converts it$"):
        k.sum(b"\xff\x01")
