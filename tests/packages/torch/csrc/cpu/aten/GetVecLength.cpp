#include "GetVecLength.h"

namespace torch_ipex {
namespace cpu {

IPEX_DEFINE_DISPATCH(get_cpp_typesize_and_vecsize_kernel_stub);

// get cpp typesize and vectorsize by at::ScalarType
std::tuple<int, int> get_cpp_typesize_and_vecsize(at::ScalarType dtype) {
  return get_cpp_typesize_and_vecsize_kernel_stub(kCPU, dtype);
}

} // namespace cpu
} // namespace torch_ipex
