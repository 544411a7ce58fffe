#pragma once

#include <dyndisp/DispatchStub.h>

namespace torch_ipex {
namespace cpu {

void cvt_fp32_to_bf16(at::BFloat16* dst, const float* src, int len);

namespace {

void cvt_fp32_to_bf16_kernel_impl(at::BFloat16* dst, const float* src, int len);

}

using cvt_fp32_to_bf16_kernel_fn = void (*)(at::BFloat16*, const float*, int);
IPEX_DECLARE_DISPATCH(cvt_fp32_to_bf16_kernel_fn, cvt_fp32_to_bf16_kernel_stub);

} // namespace cpu
} // namespace torch_ipex
