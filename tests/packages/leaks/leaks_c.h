/* The same in C: comparisons for qsort, which needs their addresses. */
#ifndef LEAKS_C_H
#define LEAKS_C_H

#include "width.h"

#include <stdlib.h>

extern int compared_by;

/* Every object has its own: this one cannot leak. */
static inline int compare_static(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  compared_by = WIDTH;
  return (x * 2 > y * 2) - (x * 2 < y * 2);
}

/* C's plain inline: one object of the program has the function, by `extern inline`; here that is the baseline's. */
inline int compare_plain(const void *a, const void *b)
{
  const float x = *(const float *)a, y = *(const float *)b;
  compared_by = WIDTH;
  return (x * 2 > y * 2) - (x * 2 < y * 2);
}

#endif
