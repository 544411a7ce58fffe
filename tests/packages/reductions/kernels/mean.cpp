// The mean: the sum of the chunks' sums, with what rounding takes from it.
#include "blocks.h"

namespace {

// A sum that also keeps what each addition rounds away (Neumaier's algorithm).
class Total {
public:
  void add(double value)
  {
    const double next = sum + value;
    rest += fabs(sum) >= fabs(value) ? (sum - next) + value : (value - next) + sum;
    sum = next;
  }
  double value() const { return isfinite(sum) ? sum + rest : sum; }

private:
  double sum = 0, rest = 0;
};

template <typename T> double mean(const void *first, size_t count, ptrdiff_t stride, bool skipna)
{
  Reader<T> reader({first, count, stride});
  Total total;
  double n = 0;
  const bool valid = by_chunks(count, [&](size_t i, size_t size) {
    FirstPass pass;
    by_blocks(reader, i, size, pass);
    const double here = pass.count();
    total.add(pass.sum());
    n += here;
    return skipna || here == static_cast<double>(size);
  });
  return valid && n > 0 ? total.value() / n : nan;
}

} // namespace

ISA_REGISTER_DISPATCH(mean_float_stub, &mean<float>)
ISA_REGISTER_DISPATCH(mean_double_stub, &mean<double>)
