// Runs every leak in a separate process, first in the baseline, then at the selected level, and prints the widths of
// the code that ran (`sort 128 256`), or how the process ended (`sort signal 4`). On Windows all run in one process.
#include "leaks.h"
#include "stubs.h"

#include <cstdio>
#include <cstdlib>
#include <thread>
#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

ISA_DEFINE_DISPATCH(sort_stub)
ISA_DEFINE_DISPATCH(growth_stub)
ISA_DEFINE_DISPATCH(method_stub)
ISA_DEFINE_DISPATCH(table_stub)
ISA_DEFINE_DISPATCH(thread_local_stub)
ISA_DEFINE_DISPATCH(throw_stub)
ISA_DEFINE_DISPATCH(throw_lowest_stub)
ISA_DEFINE_DISPATCH(catch_stub)
ISA_DEFINE_DISPATCH(lambda_stub)
ISA_DEFINE_DISPATCH(c_static_stub)
ISA_DEFINE_DISPATCH(c_plain_stub)

extern "C" int c_static_width(float *data, std::size_t n);
extern "C" int c_plain_width(float *data, std::size_t n);

volatile float seed = 1;

static int in_the_baseline(float *data, std::size_t n, const leak_fn *stub)
{
  if (stub == &sort_stub)
    return sort_width(data, n);
  if (stub == &growth_stub)
    return growth_width(data, n);
  if (stub == &method_stub)
    return polynomial().apply(data, n);
  if (stub == &table_stub)
    return table_width(2);
  if (stub == &thread_local_stub)
    return buffer_width();
  if (stub == &throw_stub || stub == &catch_stub)
    return failure_width(data);
  if (stub == &lambda_stub)
    return lambda_width(data, n);
  return stub == &c_static_stub ? c_static_width(data, n) : c_plain_width(data, n);
}

static int at_the_level(float *data, std::size_t n, const leak_fn *stub)
{
  try {
    return (*stub)(data, n);
  } catch (const failure &caught) {
    return caught.width;
  }
}

static int run(const leak_fn *stub)
{
  static float data[100];
  for (std::size_t i = 0; i < 100; i++)
    data[i] = static_cast<float>(i * 37 % 101);
  const int baseline = in_the_baseline(data, 100, stub);
  int level = 0;
  // In a new thread, where no thread_local variable is initialised.
  std::thread([&level, stub] { level = at_the_level(data, 100, stub); }).join();
  std::printf("%d %d\n", baseline, level);
  std::fflush(stdout);
  return 0;
}

int main()
{
  static const struct {
    const char *name;
    const leak_fn *stub;
  } leaks[] = {
      {"sort", &sort_stub},         {"growth", &growth_stub},
      {"method", &method_stub},     {"table", &table_stub},
      {"thread_local", &thread_local_stub}, {"throw", &throw_stub},
      {"catch", &catch_stub},       {"lambda", &lambda_stub},
      {"c_static", &c_static_stub}, {"c_plain", &c_plain_stub},
  };
  for (const auto &leak : leaks) {
    std::printf("%s ", leak.name);
    std::fflush(stdout);
#ifdef _WIN32
    run(leak.stub);
#else
    const pid_t child = fork();
    if (child == 0)
      _exit(run(leak.stub));
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
      std::printf("signal %d\n", WTERMSIG(status));
#endif
  }
}
