// Prints the GFLOP/s of a product's own instruction, on sums that stay in registers. SOURCE is the product's kernel, whose
// Dot is measured; each multiplication and each addition counts.
#include SOURCE

#include <stdio.h>
#include <time.h>

#if defined(CPU_CAPABILITY_AMX)
#error "tiles are not vectors"
#endif

int main()
{
  using Format = Dot::Format;
  using Sum = vec::Vectorized<Format::Sum>;
  constexpr int chains = 12; // as many as latency times throughput, and as fit 16 registers
  constexpr long rounds = 4000000;
  Sum sums[chains];
  UNROLL for (Sum &sum : sums) // in registers: not so where a loop over them is left
    sum = Sum(Format::Sum(0));
  volatile uint32_t start = 1;
  Words a(start);
  const Words b(start);
  timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  for (long i = 0; i < rounds; i++)
    UNROLL for (Sum &sum : sums) {
      sum = Dot::dot(sum, a, b);
      // In sequence, and each one again: the compiler must not combine or remove them.
      __asm__ volatile("" : "+x"(sum.v), "+x"(a.v));
    }
  clock_gettime(CLOCK_MONOTONIC, &after);
  Sum total(Format::Sum(0));
  UNROLL for (const Sum &sum : sums)
    total = total + sum;
  volatile Format::Sum keep = total.lane(0);
  static_cast<void>(keep);
  const double seconds =
      static_cast<double>(after.tv_sec - before.tv_sec) + 1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
  printf("%.1f\n", 2.0 * Format::group * chains * Sum::size() * rounds / seconds / 1e9);
}
