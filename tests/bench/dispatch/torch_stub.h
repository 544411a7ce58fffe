// The stub of torch, as ATen declares one.
#ifndef TORCH_STUB_H
#define TORCH_STUB_H

#include <ATen/native/DispatchStub.h>

#include <stdint.h>

namespace at::native {

using torch_step_fn = uint64_t (*)(uint64_t);
DECLARE_DISPATCH(torch_step_fn, torch_step_stub)

} // namespace at::native

#endif
