// Every grid of python/matmul_parts.h: its parts cover each element of C once, and no grid has a smaller largest part.
// Prints errors; with arguments m, n and a number of threads, the grid.
#include "matmul_parts.h"

#include <stdio.h>
#include <stdlib.h>

#include <vector>

static size_t area_of(const Part &part)
{
  return (part.bottom - part.top) * (part.right - part.left);
}

static size_t largest(const Parts &parts, size_t m, size_t n)
{
  size_t most = 0;
  for (size_t i = 0; i < parts.count(); i++)
    most = area_of(part_of(parts, i, m, n)) > most ? area_of(part_of(parts, i, m, n)) : most;
  return most;
}

static bool good(size_t m, size_t n, size_t threads)
{
  const Parts parts = parts_of(m, n, threads);
  std::vector<int> times(m * n);
  bool empty = false;
  for (size_t i = 0; i < parts.count(); i++) {
    const Part part = part_of(parts, i, m, n);
    empty |= area_of(part) == 0;
    for (size_t row = part.top; row < part.bottom; row++)
      for (size_t column = part.left; column < part.right; column++)
        times[row * n + column]++;
  }
  bool once = true, best = true;
  for (int count : times)
    once &= count == 1;
  for (size_t rows = 1; rows <= threads; rows++)
    for (size_t columns = 1; columns <= threads / rows; columns++)
      best &= largest(parts, m, n) <= largest({rows, columns}, m, n);
  if (once && best && !empty && parts.count() <= threads)
    return true;
  printf("%zu x %zu in %zu threads: %zu x %zu parts\n", m, n, threads, parts.rows, parts.columns);
  return false;
}

int main(int count, char **words)
{
  if (count == 4) {
    const size_t m = strtoul(words[1], nullptr, 10), n = strtoul(words[2], nullptr, 10);
    const Parts parts = parts_of(m, n, strtoul(words[3], nullptr, 10));
    printf("%zu x %zu, at most %zu\n", parts.rows, parts.columns, largest(parts, m, n));
    return 0;
  }
  for (size_t m = 1; m < 40; m += m < 9 ? 1 : 5)
    for (size_t n : std::vector<size_t>{1, 5, 63, 64, 65, 127, 128, 129, 200, 512, 700})
      for (size_t threads = 1; threads < 20; threads++)
        if (!good(m, n, threads))
          return 1;
  printf("good\n");
}
