"""isagen's reference kernels: what a project built with isagen looks like from Python.

Arrays are any C-contiguous objects with the buffer protocol: NumPy arrays, ``array.array``, memoryviews, ctypes arrays.
A new result is a NumPy array if the argument is one, else a memoryview; with ``out``, a writable buffer of as many
items, that is filled and returned. bfloat16 travels as 16-bit integers that are its bits.

``threads`` is the most threads that a call may take; None: OMP_NUM_THREADS, or what the machine has. Small arrays take
one, and so does everything where the extension was built without OpenMP.

Errors: TypeError for another dtype, or for an object without buffer; ValueError for a layout, a size or an axis that
does not fit, and for an ``out`` that overlaps an argument; BufferError or, from NumPy, ValueError for an ``out`` that
cannot be written to.
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
