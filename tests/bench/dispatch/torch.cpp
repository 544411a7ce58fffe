// torch's DispatchStub, called as ATen's operators call it. Also a list of variants, in a library of its own.
#include "torch_stub.h"

#include "variants.h"

namespace at::native {

DEFINE_DISPATCH(torch_step_stub);

static uint64_t call(uint64_t calls)
{
  uint64_t x = 0;
  for (uint64_t i = 0; i < calls; i++)
    x = torch_step_stub(c10::kCPU, x);
  return x;
}

} // namespace at::native

extern "C" EXPORT const struct variant *torch_variants()
{
  static const struct variant list[] = {{"torch DispatchStub", at::native::call}, {nullptr, nullptr}};
  return list;
}
