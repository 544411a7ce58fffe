// Prints the GFLOP/s of multiply-adds of floats that stay in registers: a multiply-add is two.
#include "vec.h"

#include <stdio.h>
#include <time.h>

int main()
{
  using Vec = vec::Vectorized<float>;
  constexpr int chains = 12; // as many as latency times throughput, and as fit 16 registers
  constexpr long rounds = 4000000;
  Vec sums[chains];
  for (Vec &sum : sums)
    sum = Vec(0.0f);
  volatile float start = 0.5f;
  const Vec a(start), b(start);
  timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  for (long i = 0; i < rounds; i++)
    for (Vec &sum : sums)
      sum = vec::fmadd(sum, a, b);
  clock_gettime(CLOCK_MONOTONIC, &after);
  Vec total(0.0f);
  for (const Vec &sum : sums)
    total = total + sum;
  volatile float keep = total.lane(0);
  static_cast<void>(keep);
  const double seconds = static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  printf("%.1f\n", 2.0 * chains * Vec::size() * rounds / seconds / 1e9);
}
