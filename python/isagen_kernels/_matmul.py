"""Matrix products of unsigned by signed bytes, of bfloat16, and of half precision.

All take C-contiguous buffers of two axes, ``a`` of m x k and ``b`` of k x n, any of which may be zero. `out`, if
given, is a writable C-contiguous buffer of m x n that shares no memory with them, and is returned; else a new
memoryview is, of one axis if it is empty. `threads` is the number of threads, None for the default; results do not
depend on it.

They raise TypeError for another dtype, ValueError for a shape or layout that does not fit and for an `out` that
overlaps, BufferError for a read-only `out`, and MemoryError. Messages name the argument.
"""

from __future__ import annotations

from typing import Any

from . import _core


def matmul_u8s8(a: Any, b: Any, out: Any = None, threads: int | None = None) -> Any:
    """Multiply a matrix of uint8 and one of int8 into one of int32.

    The result is exact modulo 2^32, and the same at every level; sums cannot leave int32 before k = 65,794.
    """
    return _core.matmul_u8s8(a, b, out, threads)


def matmul_bf16(a: Any, b: Any, out: Any = None, threads: int | None = None) -> Any:
    """Multiply two matrices of bfloat16, as the 16-bit integers of their bits, into one of float32.

    Products are exact and summed in float32, in an order that depends on the level. From level AVX512_BF16 on, denormal
    elements and sums may count as zero: the CPU's instructions are made so.
    """
    return _core.matmul_bf16(a, b, out, threads)


def matmul_fp16(a: Any, b: Any, out: Any = None, threads: int | None = None) -> Any:
    """Multiply two matrices of float16, or the 16-bit integers of its bits, into one of float32.

    Products are exact and summed in float32, in an order that depends on the level. At level AVX512_FP16 each 32
    products are summed in float16 first, scaled so that nothing overflows: an error of 1.6 % of the sum of the
    products' sizes at worst, and about 0.1 % of the result for random numbers.
    """
    return _core.matmul_fp16(a, b, out, threads)
