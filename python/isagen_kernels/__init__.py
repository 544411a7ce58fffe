"""isagen's reference kernels, an example of a project that is built with isagen.

Arguments are arrays: NumPy's, PyTorch's tensors in the CPU's memory, anything else with the buffer protocol
(``array.array``, memoryviews, ctypes arrays), with DLPack or ``__array__``. Prefix sums, reductions and softmax take
any layout, the other functions C-contiguous arrays. Masked arrays are refused. bfloat16 is that of ml_dtypes or
PyTorch, or 16-bit integers that hold its bits.

A new result is of the argument's kind: a NumPy array, a tensor, or else a memoryview. A result without axes is a NumPy
scalar, a tensor, or Python's number; the conversions give an array without axes for one. ``out``, which must be
writable and C-contiguous and have the result's shape and dtype, is filled and returned instead.

``axis`` counts from the end if negative. Reductions take a tuple of axes too, and ``keepdims``. Rows along the last
axis, or over all items, are read where they are. So are the rows that ``sum``, ``mean``, ``max`` and ``min`` combine
along another axis, if these have 16 items, and a transposed array without gaps whose reduced axes leave the others in
the order of memory. Other layouts and axes, and a ``dtype`` that is not that of the argument, cost copies: each thread
copies rows first, in blocks of 16,384 items, or of one cache line of neighbouring rows if these are longer.

``threads`` is the largest number of threads of a call; None: OMP_NUM_THREADS, or the number of CPUs. Small arrays use
one thread, and so do calls on a busy machine.

``isa.report()`` shows which level runs, ``isa.why("AVX512")`` why. The environment variable ISAGEN_KERNELS_ISA=AVX2
narrows a process to this level and those below.

Errors: TypeError for a wrong dtype, or for an object that is no array; ValueError for a wrong layout or shape, and for
an ``out`` that overlaps an argument; numpy.exceptions.AxisError, a ValueError, for an axis that the argument lacks;
BufferError or, from NumPy, ValueError for a read-only ``out``. Each names the argument, and where there is one the call
that mends it.
"""

from . import _core
from ._channels import channel_shuffle, concat_channel_shuffle
from ._convert import cvt_bf16_to_fp32, cvt_fp16_to_fp32, cvt_fp32_to_bf16, cvt_fp32_to_fp16
from ._levels import (
    _get_current_isa_level,  # noqa: F401
    _get_highest_binary_support_isa_level,  # noqa: F401
    _get_highest_cpu_support_isa_level,  # noqa: F401
    get_cpp_typesize_and_vecsize,
)
from ._matmul import matmul_bf16, matmul_fp16, matmul_u8s8
from ._rows import cumsum, log_softmax, logsumexp, max, mean, min, softmax, sum

isa = _core.isa
"""The CPU levels of these kernels: ``help(isagen_kernels.isa)``."""

__all__ = [
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
