#include "everywhere.h"
#include "sorted.h"

#include <stdio.h>

ISA_DEFINE_DISPATCH(sort_stub)
ISA_DEFINE_DISPATCH(sum_stub)
ISA_DEFINE_DISPATCH(row_stub)

static bool in_order(const int *data)
{
  for (int i = 1; i < 37; i++)
    if (data[i - 1] > data[i])
      return false;
  return true;
}

// Prints the level in use, the code that ran of each kernel and of the template in ordinary code, and whether all computed well.
int main()
{
  int ordinary[37], data[37], sum = 0, row = 0;
  for (int i = 0; i < 37; i++)
    ordinary[i] = data[i] = i * 11 % 37;
  const char *in_main = sorted(ordinary, 37), *sorts = sort_stub(data, 37);
  const char *sums = sum_stub(data, 37, &sum), *rows = row_stub(data, 37, &row);
  const bool right = in_order(ordinary) && in_order(data) && sum == 666 && row == 666;
  printf("%s sort=%s sum=%s row=%s main=%s %s\n", isa_level_name(isa_current_level()), sorts, sums, rows, in_main,
         right ? "right" : "wrong");
  return right ? 0 : 1;
}
