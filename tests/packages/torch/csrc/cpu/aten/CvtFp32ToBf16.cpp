#include "CvtFp32ToBf16.h"

#include <ATen/core/Tensor.h>

namespace torch_ipex {
namespace cpu {

IPEX_DEFINE_DISPATCH(cvt_fp32_to_bf16_kernel_stub);

void cvt_fp32_to_bf16(at::BFloat16* dst, const float* src, int len) {
  return cvt_fp32_to_bf16_kernel_stub(kCPU, dst, src, len);
}

} // namespace cpu
} // namespace torch_ipex
