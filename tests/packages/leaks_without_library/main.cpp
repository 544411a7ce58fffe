// Runs every leak, first in the baseline, then at the selected level, and prints the widths of the code that ran:
// "sort 128 256".
#include "leaks.h"
#include "stubs.h"

#include <stdio.h>

ISA_DEFINE_DISPATCH(sort_stub)
ISA_DEFINE_DISPATCH(method_stub)
ISA_DEFINE_DISPATCH(virtual_stub)
ISA_DEFINE_DISPATCH(table_stub)
ISA_DEFINE_DISPATCH(static_stub)
ISA_DEFINE_DISPATCH(throw_stub)
ISA_DEFINE_DISPATCH(throw_lowest_stub)
ISA_DEFINE_DISPATCH(catch_stub)
ISA_DEFINE_DISPATCH(lambda_stub)
ISA_DEFINE_DISPATCH(shared_stub)

volatile float seed = 1;

static int in_the_baseline(float *data, int n, const leak_fn *stub)
{
  if (stub == &sort_stub)
    return sort_width(data, n);
  if (stub == &method_stub)
    return polynomial().apply(data, n);
  if (stub == &virtual_stub)
    return virtual_width(square());
  if (stub == &table_stub)
    return table_width(2);
  if (stub == &static_stub)
    return static_width();
  if (stub == &throw_stub || stub == &catch_stub)
    return failure_width(data);
  return stub == &lambda_stub ? lambda_width(data, n) : counted();
}

static int at_the_level(float *data, int n, const leak_fn *stub)
{
  try {
    return (*stub)(data, n);
  } catch (const failure &caught) {
    return caught.width();
  }
}

int main()
{
  static const struct {
    const char *name;
    const leak_fn *stub;
  } leaks[] = {
      {"sort", &sort_stub},     {"method", &method_stub}, {"virtual", &virtual_stub},
      {"table", &table_stub},   {"static", &static_stub}, {"throw", &throw_stub},
      {"catch", &catch_stub},   {"lambda", &lambda_stub}, {"shared", &shared_stub},
  };
  for (const auto &leak : leaks) {
    float data[100];
    for (int i = 0; i < 100; i++)
      data[i] = static_cast<float>(i * 37 % 101);
    const int baseline = in_the_baseline(data, 100, leak.stub);
    printf("%s %d %d\n", leak.name, baseline, at_the_level(data, 100, leak.stub));
    fflush(stdout);
  }
}
