// The extension: operators for PyTorch, and what isagen tells of the levels.
#include <Python.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "csrc/cpu/aten/CvtFp32ToBf16.h"
#include "csrc/cpu/aten/GetVecLength.h"
#include "isa_python.h"
#include "native/Copies.h"

namespace {

at::Tensor cvt_fp32_to_bf16(const at::Tensor &source)
{
  TORCH_CHECK(source.device().is_cpu() && source.scalar_type() == at::kFloat, "expects a float32 tensor of the CPU");
  const at::Tensor from = source.contiguous();
  at::Tensor to = at::empty(from.sizes(), from.options().dtype(at::kBFloat16));
  torch_ipex::cpu::cvt_fp32_to_bf16(to.data_ptr<at::BFloat16>(), from.const_data_ptr<float>(),
                                    static_cast<int>(from.numel()));
  return to;
}

std::tuple<int64_t, int64_t> typesize_and_vecsize(at::ScalarType dtype)
{
  const auto [type_size, vector_size] = torch_ipex::cpu::get_cpp_typesize_and_vecsize(dtype);
  return {type_size, vector_size};
}

// IPEX's three debug functions, over the header's own.
std::vector<std::string> capabilities()
{
  using namespace torch_ipex::cpu;
  return {CPUCapabilityToString(get_cpu_capability()), CPUCapabilityToString(_get_highest_cpu_support_isa_level()),
          CPUCapabilityToString(_get_highest_binary_support_isa_level())};
}

TORCH_LIBRARY(torch_kernels, m)
{
  m.def("cvt_fp32_to_bf16(Tensor source) -> Tensor", &cvt_fp32_to_bf16);
  m.def("get_cpp_typesize_and_vecsize(ScalarType dtype) -> (int, int)", &typesize_and_vecsize);
  m.def("capabilities() -> str[]", &capabilities);
  m.def("aten_capability() -> int", [] { return static_cast<int64_t>(at::native::get_cpu_capability()); });
  m.def("copy_that_runs(str stub, Device device) -> str", &at::native::copy_that_runs);
  m.def("is_supported(str stub, Device device) -> bool", &at::native::is_supported);
}

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__C(void)
{
  PyObject *module = PyModule_Create(&definition);
  if (module != nullptr && isa_add_to_module(module) < 0) {
    Py_DECREF(module);
    return nullptr;
  }
  return module;
}
