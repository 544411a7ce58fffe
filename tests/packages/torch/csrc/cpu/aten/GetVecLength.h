#pragma once

#include <csrc/cpu/dyndisp/DispatchStub.h>

#include <tuple>

namespace torch_ipex {
namespace cpu {

std::tuple<int, int> get_cpp_typesize_and_vecsize(at::ScalarType dtype);

namespace {

std::tuple<int, int> get_cpp_typesize_and_vecsize_kernel_impl(at::ScalarType dtype);

}

using get_cpp_typesize_and_vecsize_kernel_fn = std::tuple<int, int> (*)(at::ScalarType);
IPEX_DECLARE_DISPATCH(get_cpp_typesize_and_vecsize_kernel_fn, get_cpp_typesize_and_vecsize_kernel_stub);

} // namespace cpu
} // namespace torch_ipex
