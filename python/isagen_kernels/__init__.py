"""isagen's reference kernels, an example of a project that is built with isagen.

Arrays are any C-contiguous objects with the buffer protocol: NumPy arrays, ``array.array``, memoryviews, ctypes arrays.
A new result is a NumPy array if the argument is one, else a memoryview. ``out``, a writable buffer with the right
number of items, is filled and returned instead. bfloat16 values are passed as 16-bit integers that hold their bits.

``threads`` is the largest number of threads of a call; None: OMP_NUM_THREADS, or the machine's number. Small arrays use
one thread, and so does an extension that was built without OpenMP.

Errors: TypeError for a wrong dtype, or for an object without buffer; ValueError for a wrong layout, size or axis, and
for an ``out`` that overlaps an argument; BufferError or, from NumPy, ValueError for a read-only ``out``.
"""

from . import _core
from ._channels import channel_shuffle, concat_channel_shuffle
from ._convert import cvt_bf16_to_fp32, cvt_fp16_to_fp32, cvt_fp32_to_bf16, cvt_fp32_to_fp16
from ._levels import (
    _get_current_isa_level,
    _get_highest_binary_support_isa_level,
    _get_highest_cpu_support_isa_level,
    get_cpp_typesize_and_vecsize,
)
from ._matmul import matmul_bf16, matmul_fp16, matmul_u8s8
from ._rows import cumsum, log_softmax, logsumexp, max, mean, min, softmax, sum

isa = _core.isa
"""The CPU levels of these kernels: ``help(isagen_kernels.isa)``."""

__all__ = [
    "_get_current_isa_level",
    "_get_highest_binary_support_isa_level",
    "_get_highest_cpu_support_isa_level",
    "channel_shuffle",
    "concat_channel_shuffle",
    "cumsum",
    "cvt_bf16_to_fp32",
    "cvt_fp16_to_fp32",
    "cvt_fp32_to_bf16",
    "cvt_fp32_to_fp16",
    "get_cpp_typesize_and_vecsize",
    "isa",
    "log_softmax",
    "logsumexp",
    "matmul_bf16",
    "matmul_fp16",
    "matmul_u8s8",
    "max",
    "mean",
    "min",
    "softmax",
    "sum",
]
