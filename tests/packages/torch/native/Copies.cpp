#include "native/Copies.h"

namespace at::native {

namespace {

std::string not_compiled_per_level() {
  return "ordinary";
}

// Stubs are of different types, and are handed on by reference.
template <typename Visitor>
auto with_stub(const std::string& name, Visitor visit) {
  if (name == "narrow")
    return visit(narrow_stub);
  if (name == "wide")
    return visit(wide_stub);
  if (name == "same")
    return visit(same_stub);
  return visit(absent_stub);
}

} // namespace

DEFINE_DISPATCH(narrow_stub);
DEFINE_DISPATCH(wide_stub);
DEFINE_DISPATCH(same_stub);
DEFINE_DISPATCH(absent_stub);

REGISTER_ALL_CPU_DISPATCH(same_stub, &not_compiled_per_level)
REGISTER_NO_CPU_DISPATCH(absent_stub)

std::string copy_that_runs(const std::string& stub, c10::Device device) {
  return with_stub(stub, [&](auto& found) { return found(device.type()); });
}

bool is_supported(const std::string& stub, c10::Device device) {
  return with_stub(stub, [&](auto& found) { return found.is_device_supported(device.type()); });
}

} // namespace at::native
