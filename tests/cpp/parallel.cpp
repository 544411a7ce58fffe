// parallel_for of kernels/parallel.h: every unit once, in ranges of a grain at least, in as many threads as were asked
// for at most, and in so many if none is done before all are there. Prints the default number of threads.
#include "parallel.h"

#include <set>
#include <stdio.h>
#include <string.h>

static unsigned char seen[100000];

static void fail(const char *what, size_t begin, size_t end, size_t grain, int threads)
{
  printf("%s: %zu .. %zu, grain %zu, %d threads\n", what, begin, end, grain, threads);
  exit(1);
}

static void check(size_t begin, size_t end, size_t grain, int threads)
{
  memset(seen, 0, sizeof seen);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  bool short_range = false, nested = false;
  parallel_for(
      begin, end, grain,
      [&](size_t first, size_t last) {
        for (size_t i = first; i < last; i++)
          __atomic_add_fetch(&seen[i], 1, __ATOMIC_RELAXED);
        const std::thread::id self = std::this_thread::get_id();
        std::atomic<bool> elsewhere{false};
        parallel_for(0, 1000, 1, [&](size_t, size_t) { if (std::this_thread::get_id() != self) elsewhere = true; }, 4);
        const std::lock_guard<std::mutex> lock(mutex);
        ids.insert(self);
        short_range |= last - first < grain && last < end;
        nested |= elsewhere;
      },
      threads);
  for (size_t i = 0; i < sizeof seen; i++)
    if (seen[i] != (i >= begin && i < end))
      fail("a unit was not done once", begin, end, grain, threads);
  if (short_range)
    fail("a range is shorter than the grain", begin, end, grain, threads);
  if (nested && ids.size() > 1)
    fail("threads within threads", begin, end, grain, threads);
  if (ids.size() > static_cast<size_t>(threads > 0 ? threads : default_threads()))
    fail("more threads than wanted", begin, end, grain, threads);
}

// Each range waits until all have begun, which takes a thread for each. It is the first call: on a busy
// machine later ones may work alone.
static void check_concurrency(int threads)
{
  std::atomic<int> begun{0};
  parallel_for(
      0, static_cast<size_t>(threads), 1,
      [&](size_t, size_t) {
        begun++;
        for (const int64_t until = parallel::now() + 20000000000; begun < threads && parallel::now() < until;)
          std::this_thread::yield();
        if (begun < threads)
          fail("fewer threads than wanted", 0, 0, 1, threads);
      },
      threads);
}

int main()
{
  check_concurrency(5);
  const size_t sizes[] = {0, 1, 2, 3, 7, 64, 65, 1000, 4097, 99990};
  const size_t grains[] = {0, 1, 2, 10, 1000, 1024, 5000, 200000};
  const int threads[] = {0, 1, 2, 5, 7};
  for (size_t size : sizes)
    for (size_t grain : grains)
      for (int count : threads)
        for (size_t begin = 0; begin <= 10; begin += 10)
          check(begin, begin + size, grain, count);
  printf("default %d\n", default_threads());
}
