/* The stubs: each returns what names the code that ran. */
#ifndef EVERYWHERE_H
#define EVERYWHERE_H

#include "isa_dispatch.h"

typedef const char *(*sort_fn)(int *data, int size);
ISA_DECLARE_DISPATCH(sort_fn, sort_stub)

typedef const char *(*sum_fn)(const int *data, int size, int *sum);
ISA_DECLARE_DISPATCH(sum_fn, sum_stub)
ISA_DECLARE_DISPATCH(sum_fn, row_stub)

const char *row_any(const int *data, int size, int *sum);
const char *row_arm64(const int *data, int size, int *sum);
const char *row_x86(const int *data, int size, int *sum);

#endif
