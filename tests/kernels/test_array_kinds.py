"""Arguments of other kinds than NumPy's plain arrays: masked arrays, tensors, bfloat16, DLPack, no NumPy at all."""

import ctypes
import re
import subprocess
import sys

import isagen_kernels as k
import numpy as np
import pytest

from support.projects import script

X = np.random.default_rng(10).standard_normal((4, 6), np.float32)


# ---- NumPy's others


def test_masked_arrays_are_refused():
    x = np.ma.masked_array(X, X > 0)
    for call in (k.sum, k.cumsum, k.softmax, k.cvt_fp32_to_bf16, lambda x: k.channel_shuffle(x, 2)):
        with pytest.raises(
            TypeError, match=r"^src is .*; src.compressed\(\) .*, src.filled\(value\) .*, src.data includes"
        ):
            call(x)
    with pytest.raises(TypeError, match=r"^a is a masked array"):
        k.matmul_fp16(x.astype("f2"), X.astype("f2"))
    with pytest.raises(TypeError, match=r"^out is a masked array, .*; out.data includes them$"):
        k.softmax(X, out=x)
    assert k.sum(x.filled(0), 0).shape == (6,)
    assert np.isclose(k.mean(x.compressed()), np.mean(x))
    assert np.array_equal(k.max(x.data, 0), np.max(X, 0))


def test_other_subclasses_are_arrays():
    for kind in (np.matrix, np.recarray):
        x = X.view(kind)
        got = k.softmax(x, 0)
        assert type(got) is np.ndarray
        assert np.array_equal(got, k.softmax(X, 0))


class WithArray:
    """Stands for a pandas Series, for example."""

    def __array__(self, dtype=None, copy=None):
        return X


class WithDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("x", [WithArray(), WithDlpack(X)], ids=lambda x: type(x).__name__)
def test_array_and_dlpack(x):
    assert np.array_equal(k.sum(x, 0), k.sum(X, 0))
    assert type(k.sum(x)) is np.float32
    assert np.array_equal(k.cumsum(x, 1), k.cumsum(X, 1))
    assert type(k.softmax(x)) is np.ndarray
    assert np.array_equal(k.cvt_fp32_to_fp16(x), k.cvt_fp32_to_fp16(X))
    shuffled = k.channel_shuffle(x, 3, channels_last=True)
    assert np.array_equal(shuffled, k.channel_shuffle(X, 3, channels_last=True))


def test_an_output_with_dlpack_is_filled_but_not_one_with_array():
    memory = np.zeros_like(X)
    out = WithDlpack(memory)
    assert k.softmax(X, out=out) is out
    assert np.array_equal(memory, k.softmax(X))
    with pytest.raises(TypeError, match=r"^out must be an array .*, not WithArray; pass an array to fill"):
        k.softmax(X, out=WithArray())


def test_dlpack_of_every_dtype_without_copies():
    for dtype in ("f4", "f8", "i4", "i1", "u1"):
        x = np.arange(12).astype(dtype).reshape(3, 4)
        assert k.max(WithDlpack(x)) == 11
    for dtype in ("f2", "c8", "?", "i8", "u2"):
        x = np.ones((2, 4), dtype)
        with pytest.raises(TypeError, match=f"but holds {x.dtype.name}"):
            k.softmax(WithDlpack(x))
        assert k.channel_shuffle(WithDlpack(x), 2).dtype == dtype
    with pytest.raises(ValueError, match=r"src must be C-contiguous; src.contiguous\(\) makes a copy that is"):
        k.cvt_fp32_to_bf16(WithDlpack(X.T))
    assert np.array_equal(k.max(WithDlpack(X.T), 0), np.max(X.T, 0))


class Tensor(ctypes.Structure):
    """DLPack's DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("axes", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class Handmade:
    """A tensor that NumPy does not make: on another device, with an offset, with several numbers in an item."""

    def __init__(self, device=1, lanes=1, offset=0, axes=1, code=2, bits=32, name=b"dltensor"):
        self.memory = (ctypes.c_float * 4)(1, 2, 3, 4)
        self.shape = (ctypes.c_int64 * 100)(*[3] + [1] * 99)
        self.name = name
        address = ctypes.addressof(self.memory)
        self.tensor = Tensor(address, (device, 0), axes, code, bits, lanes, self.shape, None, offset)

    def __dlpack__(self):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return make(ctypes.addressof(self.tensor), self.name, None)


def test_tensors_of_dlpack_that_numpy_does_not_make():
    assert k.cumsum(Handmade()).tolist() == [1, 3, 6]
    assert k.cumsum(Handmade(offset=4)).tolist() == [2, 5, 9]
    with pytest.raises(ValueError, match=r"^src: it is not in the CPU's memory; src.cpu\(\) makes a copy that is"):
        k.sum(Handmade(device=2))
    with pytest.raises(ValueError, match=r"^src: it has 100 axes, and 64 are the most"):
        k.sum(Handmade(axes=100))
    with pytest.raises(ValueError, match=r"^src: .*incorrect name"):
        k.sum(Handmade(name=b"other"))
    for options in ({"lanes": 2}, {"code": 3}, {"code": 200}, {"bits": 4}, {"code": 2, "bits": 8}):
        with pytest.raises(TypeError, match=r"^src must hold float32, .*, but holds items of the buffer format"):
            k.sum(Handmade(**options))


# ---- PyTorch


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def test_tensors_give_tensors(torch):
    x = torch.from_numpy(X)
    for axis in (0, 1, -1):
        for ours, theirs in [
            (k.sum, torch.sum),
            (k.mean, torch.mean),
            (k.max, torch.amax),
            (k.min, torch.amin),
            (k.logsumexp, torch.logsumexp),
            (k.cumsum, torch.cumsum),
            (k.softmax, torch.softmax),
            (k.log_softmax, torch.log_softmax),
        ]:
            assert torch.allclose(ours(x, axis), theirs(x, axis), rtol=1e-5, atol=1e-6)
    assert torch.allclose(k.sum(x, keepdims=True), torch.sum(x, (0, 1), keepdim=True))
    total = k.sum(x.to(torch.int32))
    assert (total.dtype, total.shape) == (torch.int64, ())
    assert k.softmax(x, dtype=torch.float64).dtype == torch.float64
    out = torch.empty(4, 6)
    assert k.softmax(x, 0, out=out) is out
    assert torch.equal(out, k.softmax(x, 0))
    assert torch.equal(k.channel_shuffle(x.bool(), 3), torch.channel_shuffle(x.bool()[..., None, None], 3)[..., 0, 0])


def test_bfloat16_of_tensors(torch):
    x = torch.from_numpy(X)
    assert torch.equal(k.cvt_fp32_to_bf16(x), x.bfloat16())
    assert torch.equal(k.cvt_bf16_to_fp32(x.bfloat16()), x.bfloat16().float())
    assert torch.equal(k.cvt_fp32_to_fp16(x), x.half())
    a, b = x.bfloat16(), x.bfloat16().T.contiguous()
    assert torch.allclose(k.matmul_bf16(a, b), a.float() @ b.float(), rtol=1e-5)
    assert k.channel_shuffle(a, 3).dtype == torch.bfloat16
    assert torch.allclose(k.softmax(x.T), x.T.softmax(-1), rtol=1e-5)
    with pytest.raises(TypeError, match=r"but holds bfloat16; src.to\(torch.float32\) converts it"):
        k.softmax(a)


def test_tensors_that_are_refused(torch):
    x = torch.from_numpy(X)
    with pytest.raises(ValueError, match=r"src must be C-contiguous; src.contiguous\(\) makes a copy that is"):
        k.cvt_fp32_to_fp16(x.T)
    with pytest.raises(TypeError, match=r"but holds float16; src.to\(torch.float32\) converts it"):
        k.softmax(x.half())
    with pytest.raises(BufferError, match=r"^src: .* gradient, use tensor.detach\(\)"):
        k.softmax(torch.nn.Parameter(x))
    with pytest.raises(BufferError, match=r"^out: .* gradient, use tensor.detach\(\)"):
        k.softmax(x, out=x.clone().requires_grad_())
    with pytest.raises(BufferError, match=r"^src: .*layout"):
        k.softmax(x.to_sparse())


def test_the_sign_of_a_negated_view(torch):
    """Its memory holds the opposite numbers."""
    negated = torch.complex(torch.ones(3), torch.ones(3)).conj().imag[:1]
    assert negated.is_neg()
    assert k.sum(negated) == negated.sum() == -1
    with pytest.raises(ValueError, match=r"^out is a negated view; out.resolve_neg\(\)"):
        k.softmax(torch.ones(1), out=negated)


# ---- bfloat16 in NumPy


@pytest.fixture(scope="module")
def bf16():
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16)


def test_bfloat16_of_ml_dtypes(bf16):
    x = X.astype(bf16)
    assert np.array_equal(k.cvt_fp32_to_bf16(X).view(bf16), x)
    out = np.zeros(X.shape, bf16)
    assert k.cvt_fp32_to_bf16(X, out) is out
    assert np.array_equal(out, x)
    assert np.array_equal(k.cvt_bf16_to_fp32(x), x.astype("f4"))
    b = np.ascontiguousarray(x.T)
    assert np.array_equal(k.matmul_bf16(x, b), k.matmul_bf16(x.view("u2"), b.view("u2")))
    shuffled = k.channel_shuffle(x, 3)
    assert shuffled.dtype == bf16
    assert np.array_equal(shuffled.view("u2"), k.channel_shuffle(x.view("u2"), 3))
    assert k.get_cpp_typesize_and_vecsize(bf16) == k.get_cpp_typesize_and_vecsize(bf16.type)


def test_bfloat16_where_it_is_not_meant(bf16):
    x = X.astype(bf16)
    for call in (k.softmax, k.sum, k.cvt_fp32_to_bf16, k.cvt_fp32_to_fp16):
        with pytest.raises(TypeError, match=r"^src must hold float32.*, but holds bfloat16; src.astype\(np.float32\)"):
            call(x)
    with pytest.raises(TypeError, match=r"^a must hold float16 .*, but holds bfloat16; a.astype\(np.float16\)"):
        k.matmul_fp16(x, x)
    with pytest.raises(TypeError, match=r"^out must hold float32, but holds bfloat16$"):
        k.softmax(X, out=x)
    with pytest.raises(ValueError, match=r"^src must be C-contiguous"):
        k.cvt_bf16_to_fp32(x[:, ::2])
    x.flags.writeable = False
    with pytest.raises((BufferError, ValueError), match=r"^out: .*read-?only"):
        k.cvt_fp32_to_bf16(X, x)


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float8_e5m2"])
def test_small_items_are_converted_exactly(name):
    dtype = getattr(pytest.importorskip("ml_dtypes"), name)
    x = np.ones(5, dtype)
    for call in (k.sum, k.max, k.logsumexp, k.cvt_fp32_to_fp16):
        with pytest.raises(TypeError, match=rf"but holds {name}; src.astype\(.*\) converts it$") as caught:
            call(x)
        hint = re.search(r"; (.*) converts it$", str(caught.value))[1]
        assert np.array_equal(call(eval(hint, {"np": np, "src": x})), call(np.ones(5, np.float32)))


# ---- without NumPy

ALONE = (
    "import sys; sys.modules['numpy'] = None",
    "import array, ctypes, isagen_kernels as k",
    "x = memoryview(array.array('f', range(6))).cast('B').cast('f', (2, 3))",
    "print(k.sum(x), k.sum(x, 0).tolist(), k.max(x, (0, 1)), k.cumsum(x).tolist(), k.cumsum(x, 0).tolist())",
    "print(k.sum(x, 1, keepdims=True).tolist(), k.mean(x, 0, dtype='float64').format, k.softmax(ctypes.c_float(2)))",
    "def error(call):",
    "    try: call()",
    "    except Exception as error: print(type(error).__name__, error)",
    "error(lambda: k.sum(x, 2))",
    "error(lambda: k.softmax([1.0]))",
    "error(lambda: k.softmax(array.array('l', [1])))",
)


def test_without_numpy():
    done = subprocess.run([sys.executable, "-c", script(ALONE)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "15.0 [3.0, 5.0, 7.0] 5.0 [0.0, 1.0, 3.0, 6.0, 10.0, 15.0] [[0.0, 1.0, 2.0], [3.0, 5.0, 7.0]]",
        "[[3.0], [12.0]] d 1.0",
        "ValueError axis 2 is out of bounds for array of dimension 2",
        "TypeError src must be an array or another object with a buffer, not list; np.asarray(src) makes one",
        "TypeError src must hold float32 or float64, but holds int64; "
        "np.asarray(src).astype(np.float64) is exact up to 2**53",
    ], done.stderr
