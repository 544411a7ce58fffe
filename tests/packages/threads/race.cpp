// 64 threads that wait for each other, then call the stub at once.
#include "race.h"

#include "level.h"

#include <atomic>
#include <cstdio>
#include <set>
#include <string>
#include <thread>
#include <vector>

int race()
{
  constexpr int count = 64;
  std::atomic<int> waiting{count};
  std::vector<const char *> seen(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; i++)
    threads.emplace_back([&seen, &waiting, i] {
      waiting--;
      while (waiting > 0)
        std::this_thread::yield();
      seen[static_cast<size_t>(i)] = level_stub();
    });
  for (std::thread &thread : threads)
    thread.join();

  const std::set<std::string> different(seen.begin(), seen.end());
  std::printf("initialiser %s constructor %s threads", level_in_initialiser(), level_in_constructor());
  for (const std::string &level : different)
    std::printf(" %s", level.c_str());
  std::printf(" current %s\n", isa_level_name(isa_current_level()));
  return 0;
}
