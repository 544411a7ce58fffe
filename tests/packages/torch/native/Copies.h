#pragma once

#include <ATen/native/DispatchStub.h>
#include <c10/core/Device.h>

#include <string>

namespace at::native {

using copy_fn = std::string (*)();
DECLARE_DISPATCH(copy_fn, narrow_stub)
DECLARE_DISPATCH(copy_fn, wide_stub)
DECLARE_DISPATCH(copy_fn, same_stub)
DECLARE_DISPATCH(copy_fn, absent_stub)

std::string copy_that_runs(const std::string& stub, c10::Device device);
bool is_supported(const std::string& stub, c10::Device device);

} // namespace at::native
