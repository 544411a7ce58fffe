#include <ATen/cpu/vec/vec.h>

#include "csrc/cpu/aten/GetVecLength.h"

namespace torch_ipex {
namespace cpu {

namespace {

template <typename scalar_t>
std::tuple<int, int> sizes_of() {
  return std::make_tuple(sizeof(scalar_t), at::vec::Vectorized<scalar_t>::size());
}

std::tuple<int, int> get_cpp_typesize_and_vecsize_kernel_impl(at::ScalarType dtype) {
  switch (dtype) {
    case at::ScalarType::Double:
      return sizes_of<double>();
    case at::ScalarType::Float:
      return sizes_of<float>();
    case at::ScalarType::ComplexDouble:
      return sizes_of<c10::complex<double>>();
    case at::ScalarType::ComplexFloat:
      return sizes_of<c10::complex<float>>();
    case at::ScalarType::BFloat16:
      return sizes_of<decltype(c10::impl::ScalarTypeToCPPType<at::ScalarType::BFloat16>::t)>();
    case at::ScalarType::Half:
      return sizes_of<decltype(c10::impl::ScalarTypeToCPPType<at::ScalarType::Half>::t)>();
    default:
      TORCH_CHECK(false, "Currently only floating and complex ScalarType are supported.");
  }
}

} // anonymous namespace

IPEX_REGISTER_DISPATCH(get_cpp_typesize_and_vecsize_kernel_stub, &get_cpp_typesize_and_vecsize_kernel_impl);

} // namespace cpu
} // namespace torch_ipex
