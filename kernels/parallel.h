// parallel_for: work on ranges in threads, over OpenMP where the compiler has it, else in the caller's thread.
//
// For ordinary sources: kernels run in one thread each, and whoever calls a stub splits the work.
#ifndef ISAGEN_KERNELS_PARALLEL_H
#define ISAGEN_KERNELS_PARALLEL_H

#include <stddef.h>

#ifdef _OPENMP
#include <omp.h>
#include <sys/types.h>
#include <unistd.h>
#endif

// Threads that a parallel_for takes by default: OMP_NUM_THREADS, OMP_THREAD_LIMIT or what the machine has. 1 without
// OpenMP.
inline int default_threads()
{
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

// Threads that parallel_for takes for `size` units at least `grain` to each. threads < 1: the default.
inline int threads_for(size_t size, size_t grain, int threads)
{
  const size_t most = static_cast<size_t>(threads < 1 ? default_threads() : threads);
  const size_t useful = size / (grain < 1 ? 1 : grain);
  return static_cast<int>(useful < 1 ? 1 : useful < most ? useful : most);
}

// How many units of `size` each make a grain: one at least.
inline size_t grain_of(size_t size, size_t grain)
{
  return size == 0 || size > grain ? 1 : grain / size;
}

#ifdef _OPENMP
// Whether this process may start threads: it is the one that asked first, so ask when the program starts. In a child of a
// process that already had some, from whatever library, GCC's OpenMP waits forever for threads that fork() did not copy.
inline bool may_start_threads()
{
  static pid_t owner = 0;
  const pid_t self = getpid();
  pid_t known = __atomic_load_n(&owner, __ATOMIC_RELAXED);
  if (known == 0 && __atomic_compare_exchange_n(&owner, &known, self, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return true;
  return known == self;
}
#endif

// Calls f(first, last) for ranges that together are begin .. end, each in a thread of its own, and waits for all. A range
// has `grain` units or more; what is shorter than two grains stays in the caller's thread, as do calls from within f.
// f must not throw.
template <typename F> void parallel_for(size_t begin, size_t end, size_t grain, const F &f, int threads = 0)
{
  if (begin >= end)
    return;
#ifdef _OPENMP
  const size_t size = end - begin;
  const int count = threads_for(size, grain, threads);
  if (count > 1 && !omp_in_parallel() && may_start_threads()) {
#pragma omp parallel num_threads(count)
    {
      const size_t all = static_cast<size_t>(omp_get_num_threads()), i = static_cast<size_t>(omp_get_thread_num());
      // Ranges of large grains begin at multiples of 64 units, so that threads share no vector of the result.
      const size_t unit = grain >= 1024 ? 64 : 1, units = (size + unit - 1) / unit;
      const size_t first = begin + units / all * unit * i + (i < units % all ? i : units % all) * unit;
      const size_t last = first + (units / all + (i < units % all ? 1 : 0)) * unit;
      if (first < end)
        f(first, last < end ? last : end);
    }
    return;
  }
#else
  static_cast<void>(grain);
  static_cast<void>(threads);
#endif
  f(begin, end);
}

#endif
