/* Prints the best of a few times of each kernel: a line for each, NAME SECONDS. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>

#include "stubs.h"

ISA_DEFINE_DISPATCH(faster_stub)
ISA_DEFINE_DISPATCH(neither_stub)
ISA_DEFINE_DISPATCH(slower_stub)

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void measure(const char *name, work_fn kernel)
{
  static volatile unsigned result;
  double best = 1e9;
  for (unsigned i = 0; i < 10; i++) {
    const double start = now();
    result = kernel(i + result);
    const double seconds = now() - start;
    best = seconds < best ? seconds : best;
  }
  printf("%s %.9f\n", name, best);
}

int main(void)
{
  measure("faster_stub", faster_stub);
  measure("kernels/neither.c", neither_stub);
  measure("slower.c", slower_stub);
  return 0;
}
