// torch's kernel: compiled once per CPU_CAPABILITY, as ATen does.
#include "torch_stub.h"

#include "step_body.h"

namespace at::native {
namespace {

uint64_t step(uint64_t x) STEP_BODY(x)

} // namespace

REGISTER_DISPATCH(torch_step_stub, &step)

} // namespace at::native
