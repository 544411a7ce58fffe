#include "native/Copies.h"

namespace at::native {

namespace {

std::string narrow_kernel() {
  return ISA_THIS_LEVEL;
}

std::string wide_kernel() {
  return ISA_THIS_LEVEL;
}

} // namespace

REGISTER_DISPATCH(narrow_stub, &narrow_kernel)
ALSO_REGISTER_AVX512_DISPATCH(wide_stub, &wide_kernel)

} // namespace at::native
