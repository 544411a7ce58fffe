/* dispatch ROUNDS [LIBRARY]: measures every variant once a round, in an order that changes with each round, and prints
 * their names, then a line per round with nanoseconds per call. */
#define _GNU_SOURCE
#include "variants.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { calls = 10000, most = 8, repeats = 3 };

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of a few bursts: an interrupt makes one slow, and never one fast. */
static double measure(const struct variant *v)
{
  double best = 1e30;
  int i;
  for (i = 0; i < repeats; i++) {
    const double start = now();
    const uint64_t result = v->loop(calls);
    const double taken = (now() - start) / calls;
    if (result != calls)
      exit(1);
    if (taken < best)
      best = taken;
  }
  return best;
}

int main(int count, char **arguments)
{
  struct variant list[most];
  double taken[most];
  int order[most], n = 0, i, round;
  const struct variant *v;
  const int rounds = atoi(arguments[1]);

  for (v = variants(); v->name; v++)
    list[n++] = *v;
  if (count > 2) {
    void *library = dlopen(arguments[2], RTLD_NOW);
    const struct variant *(*more)(void);
    if (library != NULL) {
      *(void **)&more = dlsym(library, "torch_variants");
      for (v = more(); v->name; v++)
        list[n++] = *v;
    } else {
      fprintf(stderr, "left out: %s\n", dlerror());
    }
  }
  for (i = 0; i < n; i++) {
    order[i] = i;
    printf("%s%s", list[i].name, i == n - 1 ? "\n" : "\t");
    measure(&list[i]);
  }
  srand(1);
  for (round = 0; round < rounds; round++) {
    for (i = n - 1; i > 0; i--) {
      const int other = rand() % (i + 1), kept = order[i];
      order[i] = order[other];
      order[other] = kept;
    }
    for (i = 0; i < n; i++)
      taken[order[i]] = measure(&list[order[i]]);
    for (i = 0; i < n; i++)
      printf("%.4f%s", taken[i], i == n - 1 ? "\n" : "\t");
  }
  return 0;
}
