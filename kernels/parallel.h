// parallel_for: divides work into ranges, and runs them in the caller's thread and in the threads of a pool.
//
// For ordinary sources: a kernel runs in one thread, and the caller of a stub splits the work. The caller never waits
// for a thread that the system has not started yet. On a busy machine, the pool's threads lose their CPU in the middle
// of a range. After such a loss, calls use only the caller's thread for a while.
#ifndef ISAGEN_KERNELS_PARALLEL_H
#define ISAGEN_KERNELS_PARALLEL_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <system_error>
#include <thread>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <time.h>
#endif
#ifdef __linux__
#include <sched.h>
#endif

namespace parallel {

// Returns the nanoseconds of a clock that is never set back.
inline int64_t now()
{
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the nanoseconds for which this thread had a CPU; if the system does not count them, those of now().
inline int64_t on_cpu()
{
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec time;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
    return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
#endif
  return now();
}

// Waits at most 50 microseconds, about the time that waking a thread takes. It does not yield the CPU, because the
// system may then run another program for milliseconds.
template <typename F> void wait_a_little(const F &is_done)
{
  for (const int64_t until = now() + 50000; !is_done() && now() < until;) {
  }
}

// Returns the positive number at the start of an environment variable's value, at most 1024; else `otherwise`.
inline int number_in(const char *variable, int otherwise)
{
  const char *const text = getenv(variable);
  const long number = text ? strtol(text, nullptr, 10) : 0;
  return number > 0 && number <= 1024 ? int(number) : otherwise;
}

// Returns the number of CPUs that this process may use.
inline int cpus()
{
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count < 1 ? 1 : int(count);
}

// A call of parallel_for. Until none are left, each thread takes the next `step` units of next .. end to work on.
struct Job {
  void (*call)(const void *f, size_t first, size_t last);
  const void *f;
  std::atomic<size_t> next;
  size_t end, step;

  // Returns the number of ranges that this thread worked on.
  int work()
  {
    int ranges = 0;
    for (size_t first = next.fetch_add(step); first < end; first = next.fetch_add(step), ranges++)
      call(f, first, end - first < step ? end : first + step);
    return ranges;
  }
};

class Pool {
public:
  // Returns the pool of this process, or null if there is no memory. A forked child begins with a new pool, because
  // fork() copies no threads. A pool is never destroyed: its threads wait until the process ends.
  static Pool *get()
  {
    static const bool forgets = forget_when_forked();
    static_cast<void>(forgets);
    Pool *pool = shared().load();
    if (pool == nullptr) {
      Pool *const made = new (std::nothrow) Pool;
      if (shared().compare_exchange_strong(pool, made))
        return made;
      delete made;
    }
    return pool;
  }

  // Returns whether calls use only the caller's thread for now, because other programs use the CPUs.
  bool is_alone() const { return now() < alone_until_.load(std::memory_order_relaxed); }

  // Runs a job in up to `count` threads, the caller's among them. If the pool has a job already, as in a call from
  // within f, only the caller's thread works.
  void run(Job &job, int count)
  {
    if (has_job_.exchange(true)) {
      job.work();
      return;
    }
    start(count - 1);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      job_ = &job;
      wanted_ = count - 1;
      number_++;
    }
    wake_.notify_all();
    const int64_t begin = now();
    const int ranges = job.work();
    const int64_t end = now();
    std::unique_lock<std::mutex> lock(mutex_);
    job_ = nullptr; // threads that have not begun find no job
    lock.unlock();
    wait_a_little([this] { return working_ == 0; });
    lock.lock();
    finished_.wait(lock, [this] { return working_ == 0; });
    const int64_t usual = 2 * (end - begin) / (ranges > 0 ? ranges : 1); // another thread may just have begun a range
    note_loss(now() - end - usual, now() - begin);
    has_job_ = false;
  }

private:
  static std::atomic<Pool *> &shared()
  {
    static std::atomic<Pool *> pool{nullptr};
    return pool;
  }

  static bool forget_when_forked()
  {
#if defined(__unix__) || defined(__APPLE__)
    return pthread_atfork(nullptr, nullptr, [] { shared() = nullptr; }) == 0;
#else
    return true;
#endif
  }

  void start(int count)
  {
    try {
      for (; started_ < count; started_++)
        std::thread(&Pool::serve, this, started_, number_.load()).detach();
    } catch (const std::system_error &) { // the system allows no more threads: the job runs in fewer
    }
  }

  // A thread waited or had no CPU for `lost` of the `whole` nanoseconds of a job. If these are many, other programs use
  // the CPUs: for 30 times as long, calls use only the caller's thread.
  void note_loss(int64_t lost, int64_t whole)
  {
    if (lost > 200000 && lost > whole / 4)
      alone_until_ = now() + 30 * lost;
  }

  // The function of thread `index`: waits for a job after number `last`, works on it if the job wants so many threads,
  // and waits for the next one.
  void serve(int index, unsigned last)
  {
    for (;;) {
      wait_a_little([&] { return number_ != last; });
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return number_ != last; });
      last = number_;
      Job *const job = job_;
      if (job == nullptr || index >= wanted_)
        continue;
      working_++;
      lock.unlock();
      const int64_t begin = now(), before = on_cpu();
      job->work();
      lock.lock();
      if (--working_ == 0)
        finished_.notify_one();
      lock.unlock();
      const int64_t whole = now() - begin;
      note_loss(whole - (on_cpu() - before), whole);
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::atomic<bool> has_job_{false};
  std::atomic<int64_t> alone_until_{0};
  std::atomic<unsigned> number_{0}; // of jobs so far
  std::atomic<int> working_{0};
  Job *job_ = nullptr;
  int wanted_ = 0, started_ = 0;
};

} // namespace parallel

// Returns the default number of threads of parallel_for: OMP_NUM_THREADS, as in OpenMP, or else the number of CPUs.
inline int default_threads()
{
  static const int count = parallel::number_in("OMP_NUM_THREADS", parallel::cpus());
  return count;
}

// Returns the number of threads that parallel_for uses for `size` units, with at least `grain` units for each; 1 on a
// busy machine. `threads` is the largest number; less than 1 means the default.
inline int threads_for(size_t size, size_t grain, int threads)
{
  static const int limit = parallel::number_in("OMP_THREAD_LIMIT", 1024);
  const int wanted = threads < 1 ? default_threads() : threads;
  const size_t most = static_cast<size_t>(wanted < limit ? wanted : limit);
  const size_t useful = size / (grain < 1 ? 1 : grain);
  if (most < 2 || useful < 2)
    return 1;
  const parallel::Pool *const pool = parallel::Pool::get();
  return pool == nullptr || pool->is_alone() ? 1 : static_cast<int>(useful < most ? useful : most);
}

// Returns how many units of size `size` fit into a grain, at least 1.
inline size_t grain_of(size_t size, size_t grain)
{
  return size == 0 || size > grain ? 1 : grain / size;
}

// Divides begin .. end into ranges, calls f(first, last) for each in several threads, and returns when all are done.
// Ranges have at least `grain` units, except the last. Work of less than two grains, and calls from within f, run in
// the caller's thread. f must not throw.
template <typename F> void parallel_for(size_t begin, size_t end, size_t grain, const F &f, int threads = 0)
{
  if (begin >= end)
    return;
  const size_t size = end - begin;
  const int count = threads_for(size, grain, threads);
  if (count < 2)
    return f(begin, end);
  // There are about four ranges for each thread, so that faster threads can take more. Ranges of large grains begin at
  // multiples of 64 units, so that no two threads write to the same vector of the result.
  const size_t share = size / (4 * static_cast<size_t>(count)) + 1, unit = grain >= 1024 ? 64 : 1;
  const size_t step = ((share > grain ? share : grain) + unit - 1) / unit * unit;
  const auto call = [](const void *function, size_t first, size_t last) {
    (*static_cast<const F *>(function))(first, last);
  };
  parallel::Job job = {call, &f, {begin}, end, step};
  parallel::Pool::get()->run(job, count);
}

#endif
