"""isagen's reference kernels, an example of a project that is built with isagen.

Arguments are arrays: NumPy arrays, PyTorch tensors in the CPU's memory, and other objects with the buffer protocol
(``array.array``, memoryviews, ctypes arrays), with DLPack, or with ``__array__``. Prefix sums, reductions and softmax
accept any layout, the other functions only C-contiguous arrays. Masked arrays are refused. bfloat16 is the dtype of
ml_dtypes or of PyTorch, or 16-bit integers that contain its bits.

A new result is of the argument's kind: a NumPy array, a tensor, or else a memoryview. A result without axes is a NumPy
scalar, a tensor, or a Python number; conversions of an array without axes return such an array. If ``out`` is given,
it is filled and returned instead. It must be writable and C-contiguous, and have the shape and dtype of the result.

A negative ``axis`` counts from the end. Reductions also accept a tuple of axes, and ``keepdims``. Three kinds of rows
are read in place: those along the last axis or over all items; those of at least 16 items that ``sum``, ``mean``,
``max`` and ``min`` combine along another axis; and those of a transposed array without gaps, if the axes that are not
reduced are in the order of memory. Other layouts and axes, and a ``dtype`` that differs from the argument's, cost
copies: each thread first copies rows, in blocks of 16,384 items, or of one cache line of neighbouring rows if rows are
longer.

``threads`` is the largest number of threads of a call. None means OMP_NUM_THREADS, or else the number of CPUs. Calls
with small arrays, and calls on a busy machine, use one thread.

``print(isa.report())`` shows which level runs, and ``isa.why("AVX512")`` why. The environment variable
ISAGEN_KERNELS_ISA=AVX2 narrows a process to AVX2 and the levels below.

Errors: TypeError for a wrong dtype, or for an object that is no array; ValueError for a wrong layout or shape, and for
an ``out`` that overlaps an argument; numpy.exceptions.AxisError, a ValueError, for an axis that the argument lacks;
BufferError or, from NumPy, ValueError for a read-only ``out``. Each message names the argument, and, if there is one,
the call that makes the argument fit; ``np`` in it is NumPy.
"""

from . import _core
from ._channels import channel_shuffle, concat_channel_shuffle
from ._convert import cvt_bf16_to_fp32, cvt_fp16_to_fp32, cvt_fp32_to_bf16, cvt_fp32_to_fp16
from ._dtypes import Array
from ._levels import (
    _get_current_isa_level,  # noqa: F401
    _get_highest_binary_support_isa_level,  # noqa: F401
    _get_highest_cpu_support_isa_level,  # noqa: F401
    get_cpp_typesize_and_vecsize,
)
from ._matmul import matmul_bf16, matmul_fp16, matmul_u8s8
from ._rows import cumsum, log_softmax, logsumexp, max, mean, min, softmax, sum

__version__ = "0.3.0"
isa = _core.isa
"""The CPU levels of these kernels: ``help(isagen_kernels.isa)``."""

__all__ = [
    "Array",
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
