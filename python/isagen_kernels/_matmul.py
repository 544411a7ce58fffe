"""Matrix products of unsigned by signed bytes, of bfloat16, and of half precision.

Each multiplies matrices ``a`` of m x k and ``b`` of k x n to a matrix of m x n; m, n and k may be zero. Results do not
depend on the number of threads.
"""

from __future__ import annotations

from . import _core
from ._dtypes import Array


def matmul_u8s8(a: Array, b: Array, *, out: Array = None, threads: int | None = None) -> Array:
    """Multiply a matrix of uint8 by a matrix of int8. The result is a matrix of int32.

    It is exact modulo 2^32, and the same at every level. Sums fit in int32 if k < 65,794.
    """
    return _core.matmul_u8s8(a, b, out, threads)


def matmul_bf16(a: Array, b: Array, *, out: Array = None, threads: int | None = None) -> Array:
    """Multiply two matrices of bfloat16, or of 16-bit integers with its bits. The result is a matrix of float32.

    Products are exact and summed in float32, in an order that depends on the level. From level AVX512_BF16 on, denormal
    elements and sums count as zero, as the CPU's instructions define. At lower levels, this depends on the thread's
    MXCSR.
    """
    return _core.matmul_bf16(a, b, out, threads)


def matmul_fp16(a: Array, b: Array, *, out: Array = None, threads: int | None = None) -> Array:
    """Multiply two matrices of float16, or of 16-bit integers with its bits. The result is a matrix of float32.

    Products are exact and summed in float32, in an order that depends on the level. From level AVX512_FP16 on, each 32
    products are summed in float16 first, scaled so that finite inputs do not overflow. The error is then at most 1.6 %
    of the sum of the products' magnitudes, plus k * 2**-26 times the largest magnitude in the row of `a` times that in
    the column of `b`. For random numbers, it is about 0.1 % of the result. Where a row has 60000 beside elements of
    0.001, it can exceed the result. With ISAGEN_KERNELS_ISA=AVX512, the process sums in float32.
    """
    return _core.matmul_fp16(a, b, out, threads)
