// parallel_for of kernels/parallel.h: every unit once, in ranges of a grain at least. Prints the default number of
// threads and the largest observed one.
#include "parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char seen[100000];
static int most = 0;

static void fail(const char *what, size_t begin, size_t end, size_t grain, int threads)
{
  printf("%s: %zu .. %zu, grain %zu, %d threads\n", what, begin, end, grain, threads);
  exit(1);
}

static void check(size_t begin, size_t end, size_t grain, int threads)
{
  memset(seen, 0, sizeof seen);
  int ranges = 0;
  bool short_range = false, nested = false;
  parallel_for(
      begin, end, grain,
      [&](size_t first, size_t last) {
        for (size_t i = first; i < last; i++)
          __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&ranges, 1, __ATOMIC_RELAXED);
        // The last range of a large grain may be shorter by what the others are rounded up.
        if (last - first + 64 < grain && last - first < end - begin)
          __atomic_store_n(&short_range, true, __ATOMIC_RELAXED);
        int inner = 0;
        parallel_for(0, 1000, 1, [&](size_t, size_t) { inner++; }, 4);
        if (inner != 1 && last - first < end - begin)
          __atomic_store_n(&nested, true, __ATOMIC_RELAXED);
      },
      threads);
  for (size_t i = 0; i < sizeof seen; i++)
    if (seen[i] != (i >= begin && i < end))
      fail("a unit was not done once", begin, end, grain, threads);
  if (short_range)
    fail("a range is shorter than the grain", begin, end, grain, threads);
  if (nested)
    fail("threads within threads", begin, end, grain, threads);
  const int allowed = threads > 0 ? threads : default_threads();
  if (ranges > allowed)
    fail("more ranges than threads", begin, end, grain, threads);
  most = ranges > most ? ranges : most;
}

int main()
{
  const size_t sizes[] = {0, 1, 2, 3, 7, 64, 65, 1000, 4097, 99990};
  const size_t grains[] = {0, 1, 2, 10, 1000, 1024, 5000, 200000};
  const int threads[] = {0, 1, 2, 5, 7};
  for (size_t size : sizes)
    for (size_t grain : grains)
      for (int count : threads)
        for (size_t begin = 0; begin <= 10; begin += 10)
          check(begin, begin + size, grain, count);
  printf("default %d, most %d\n", default_threads(), most);
}
