// A pybind11 module as its author would write it without isagen, but for level(): a class, a cache, an exception.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <stdexcept>
#include <string>

#include "bins.h"
#include "isa_dispatch.h"

namespace py = pybind11;

namespace {

std::map<std::string, int> &calls()
{
  static std::map<std::string, int> counted;
  return counted;
}

struct Values
{
  std::vector<float> held;
  float sum() const { return sum_of(held.data(), held.size()); }
};

std::vector<long> histogram(const Values &values, int bins, float low, float high)
{
  calls()["histogram"]++;
  return count_bins(values.held.data(), values.held.size(), bins, low, high);
}

} // namespace

PYBIND11_MODULE(histograms, m)
{
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown)
        std::rethrow_exception(thrown);
    } catch (const Error &error) {
      PyErr_Format(PyExc_ValueError, "%d bins", error.bins);
    }
  });
  py::class_<Values>(m, "Values")
    .def(py::init([](std::vector<float> held) { return Values{std::move(held)}; }))
    .def("sum", &Values::sum);
  m.def("histogram", &histogram);
  m.def("calls", [] { return calls(); });
  m.def("level", [] { return ISA_THIS_LEVEL; });
}
