#include "leaks_c.h"

#include <stddef.h>

int compared_by;
extern inline int compare_plain(const void *a, const void *b);
int c_static_width(float *data, size_t n);
int c_plain_width(float *data, size_t n);

int c_static_width(float *data, size_t n)
{
  qsort(data, n, sizeof *data, compare_static);
  return compared_by;
}

int c_plain_width(float *data, size_t n)
{
  qsort(data, n, sizeof *data, compare_plain);
  return compared_by;
}
