"""The operators of this package; PyTorch's libraries must be loaded before its own."""

import torch

from ._C import isa  # noqa: F401

cvt_fp32_to_bf16 = torch.ops.torch_kernels.cvt_fp32_to_bf16
get_cpp_typesize_and_vecsize = torch.ops.torch_kernels.get_cpp_typesize_and_vecsize
