"""What an error about a type of items says to call gives NumPy's numbers; where nothing does, no hint is given."""

import array
import ctypes
import re
from collections import deque
from types import SimpleNamespace

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
    k.log_softmax: lambda x: x - np.max(x) - np.log(np.sum(np.exp(x - np.max(x)))),
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
        found = followed(problem, function, src)
    is_exact = src.dtype.kind != "f" and function in (k.sum, k.mean, k.max, k.min, k.cumsum)
    tolerance = 0 if is_exact else 1e-6
    np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=tolerance, atol=tolerance)


def followed(problem, function, src, **others):
    """Return the result of the call that an error's hint names."""
    effects = r"(converts it|rounds it|reads it|is exact up to 2\*\*53)"
    hint = re.search(rf"; (.+?)(, without dtype,)? {effects}$", str(problem))
    if hint[2]:
        del others["dtype"]
    call = f"function({hint[1]}, **others)" if "src" in hint[1] else f"function(src, {hint[1]})"
    return eval(call, {"np": np, "src": src, "function": function, "others": others})


@pytest.mark.parametrize("src", HELD, ids=lambda src: src.dtype.name)
@pytest.mark.parametrize(("function", "dtype"), [(k.sum, "int64"), (k.sum, "float64"), (k.mean, "float64")])
def test_the_hint_where_a_dtype_is_given(function, dtype, src):
    try:
        found = function(src, dtype=dtype)
    except TypeError as problem:
        found = followed(problem, function, src, dtype=dtype)
    wanted = FUNCTIONS[function](src.astype(np.longdouble if src.dtype.kind == "f" else object).astype(np.float64))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "src",
    [np.full(40000, 2**16 - 1, np.uint16), np.full(2**17, 2**15 - 1, np.int16), np.full(2**24, 255, np.uint8)],
    ids=lambda src: src.dtype.name,
)
def test_the_hint_of_prefix_sums_does_not_wrap(src):
    with pytest.raises(TypeError) as caught:
        k.cumsum(src)
    assert followed(caught.value, k.cumsum, src)[-1] == len(src) * int(src[0])


@pytest.mark.parametrize("src", HELD, ids=lambda src: src.dtype.name)
@pytest.mark.parametrize("convert", [k.cvt_fp32_to_bf16, k.cvt_fp32_to_fp16, k.cvt_fp16_to_fp32])
def test_the_hint_of_conversions(convert, src):
    source, result = (np.float16, np.float32) if convert is k.cvt_fp16_to_fp32 else (np.float32, np.float16)
    try:
        convert(src)
    except TypeError as problem:
        if str(problem).endswith(f"but holds {src.dtype.name}"):
            assert src.dtype == bool or not np.can_cast(src.dtype, source, "safe")
            return
        with np.errstate(over="ignore"):
            found = followed(problem, convert, src)
            if result is np.float32 or convert is k.cvt_fp32_to_fp16:
                assert np.array_equal(found, src.astype(source).astype(result))
            else:
                assert np.array_equal(found, k.cvt_fp32_to_bf16(src.astype(source)))


def test_the_hint_of_products():
    for function, dtypes in ((k.matmul_u8s8, (np.uint8, np.int8)), (k.matmul_fp16, (np.float16, np.float16))):
        for held in (bool, np.int8, np.uint8, np.float32, np.float64):
            for position, name in enumerate("ab"):
                arrays = [np.ones((2, 2), dtype) for dtype in dtypes]
                arrays[position] = src = np.array([[1, 0], [0, 1]], held)
                try:
                    found = function(*arrays)
                except TypeError as problem:
                    hint = re.search(rf"; ({name}\.astype\(.+?\)) (converts|rounds) it$", str(problem))
                    if hint is None:
                        assert str(problem).endswith(f"but holds {np.dtype(held).name}")
                        continue
                    arrays[position] = eval(hint[1], {"np": np, name: src})
                    found = function(*arrays)
                assert found.tolist() == [[1, 1], [1, 1]]


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
            found = followed(problem, k.sum, src)
        assert found == 10


@pytest.mark.parametrize(
    "src",
    [memoryview(np.arange(5, dtype=">f4")), (ctypes.c_int.__ctype_be__ * 5)(*range(5)), array.array("h", range(5))],
    ids=lambda src: type(src).__name__,
)
def test_objects_without_astype(src):
    with pytest.raises(TypeError) as caught:
        k.sum(src)
    assert followed(caught.value, k.sum, src) == 10


class WithDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Tensor(WithDlpack):
    def to(self, dtype):
        return dtype(self.array)


def test_objects_with_dlpack_alone():
    src = WithDlpack(np.arange(5, dtype=np.int16))
    with pytest.raises(TypeError) as caught:
        k.sum(src)
    assert followed(caught.value, k.sum, src) == 10


def test_bfloat16_of_any_object():
    torch = SimpleNamespace(bfloat16=lambda x: k.cvt_fp32_to_bf16(x.astype(np.float32)))
    kinds = (np.asarray, memoryview, WithDlpack, Tensor, lambda x: array.array("d", x) if x.itemsize == 8 else x)
    for kind in kinds:
        for dtype in (np.float64, np.float16, np.float32):
            src = kind(np.array([1.5, 2], dtype))
            with pytest.raises(TypeError, match=r"; .* rounds it$") as caught:
                k.cvt_bf16_to_fp32(src)
            hint = re.search(r"; (.+?) rounds it$", str(caught.value))[1]
            bits = eval(hint, {**vars(k), "np": np, "src": src, "torch": torch})
            assert k.cvt_bf16_to_fp32(bits).tolist() == [1.5, 2]


def test_bfloat16_of_bytes():
    with pytest.raises(TypeError, match=r"; .* reads its bytes so$") as caught:
        k.cvt_bf16_to_fp32(b"\x80\x3f")
    hint = re.search(r"; (.+?) reads its bytes so$", str(caught.value))[1]
    bits = eval(hint, {"np": np, "src": b"\x80\x3f"})
    assert k.cvt_bf16_to_fp32(bits).tolist() == [1]


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
    for src in ([1.5, 2], (1.5, 2), 2.5, range(3), deque([1.5, 2])):
        with pytest.raises(TypeError, match=r"; np.asarray\(src\) makes one$"):
            k.sum(src)
        assert k.sum(np.asarray(src, float)) == np.sum(src)
    for src in (None, "abc", {}):
        with pytest.raises(TypeError, match=r"another object with a buffer, not \w+$"):
            k.sum(src)


def test_bytes_are_numbers_of_a_byte():
    with pytest.raises(TypeError, match="but holds uint8; ") as caught:
        k.sum(b"\xff\x01")
    assert followed(caught.value, k.sum, b"\xff\x01") == 256
