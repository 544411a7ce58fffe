// parallel_for: runs ranges in threads, by OpenMP if the compiler has it, else in the caller's thread.
//
// For ordinary sources: a kernel runs in one thread, and the caller of a stub splits the work.
#ifndef ISAGEN_KERNELS_PARALLEL_H
#define ISAGEN_KERNELS_PARALLEL_H

#include <stddef.h>

#ifdef _OPENMP
#include <omp.h>
#include <sys/types.h>
#include <unistd.h>
#endif

// The default number of threads of parallel_for: OMP_NUM_THREADS, OMP_THREAD_LIMIT or the machine's number; 1 without
// OpenMP.
inline int default_threads()
{
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

// The number of threads of parallel_for for `size` units, at least `grain` for each thread. threads < 1: the default.
inline int threads_for(size_t size, size_t grain, int threads)
{
  const size_t most = static_cast<size_t>(threads < 1 ? default_threads() : threads);
  const size_t useful = size / (grain < 1 ? 1 : grain);
  return static_cast<int>(useful < 1 ? 1 : useful < most ? useful : most);
}

// The number of units of size `size` in a grain; at least 1.
inline size_t grain_of(size_t size, size_t grain)
{
  return size == 0 || size > grain ? 1 : grain / size;
}

#ifdef _OPENMP
// Returns whether this process may start threads: it may if it made the first call, so call this when the program
// starts. In a forked child, GCC's OpenMP waits forever for the parent's threads (of any library), which fork() did not
// copy.
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

// Divides begin .. end into ranges, calls f(first, last) for each in a separate thread, and waits for all. A range has
// at least `grain` units. Work shorter than two grains, and calls from within f, run in the caller's thread. f must not
// throw.
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
      // Ranges of large grains begin at multiples of 64 units, so that no two threads write to one vector of the
      // result.
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
