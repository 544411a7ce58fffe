"""The matrix products for bench/kernels.py: `matmul_cases()` goes with kernel_cases.py's list.

torch has no product of unsigned by signed bytes that leaves int32: beside ours stands its product of signed bytes,
which takes the same time. Its product of float16 takes 200 times as long as bfloat16's on CPUs without AVX512_FP16, and
NumPy's products of integers and halves are loops: both are left out.
"""

import isagen_kernels as k
import numpy as np
from kernel_cases import Case, empty, normal

try:
    import torch
except ImportError:
    torch = None


def bytes_of(shape, dtype):
    array = empty(shape, dtype)
    array[...] = np.random.default_rng(1).integers(-128, 128, shape).astype(dtype)
    return array


def bf16_of(shape):
    array = empty(shape, "uint16")
    array[...] = normal(shape).view(np.uint32) >> 16
    return array


def half_of(shape):
    array = empty(shape, "float16")
    array[...] = normal(shape)
    return array


def product(name, n, left, right, result, in_torch):
    """A product of n x n matrices."""

    def make():
        a, b, out = left((n, n)), right((n, n)), empty((n, n), result)
        ours = getattr(k, name)
        theirs = in_torch(a, b) if torch and in_torch else None
        return lambda threads: ours(a, b, out=out, threads=threads), None, theirs

    traffic = {"int32": 1 + 1 + 4, "float32": 2 + 2 + 4}[result] * n * n
    return Case(name, f"{n} cubed", f"{name}_stub", make, traffic, n * n, flops=2 * n**3)


def torch_bytes(a, b):
    x, y = torch.from_numpy(a.view(np.int8)), torch.from_numpy(b)
    out = torch.zeros(a.shape[0], b.shape[1], dtype=torch.int32)
    return lambda: torch._int_mm(x, y, out=out)


def torch_bf16(a, b):
    x, y = (torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) for array in (a, b))
    out = torch.zeros(a.shape[0], b.shape[1], dtype=torch.bfloat16)
    return lambda: torch.mm(x, y, out=out)


def matmul_cases():
    """Return the cases: one small, the size that is compared with torch, and one beyond the second level cache."""
    found = []
    for n in (128, 512, 1024):
        unsigned, signed = (lambda shape, dtype=dtype: bytes_of(shape, dtype) for dtype in ("uint8", "int8"))
        found.append(product("matmul_u8s8", n, unsigned, signed, "int32", torch_bytes))
        found.append(product("matmul_bf16", n, bf16_of, bf16_of, "float32", torch_bf16))
        found.append(product("matmul_fp16", n, half_of, half_of, "float32", None))
    return found
