// The stubs, and inline functions that kernel sources share.
#pragma once
#include "isa_dispatch.h"
#include <stddef.h>

typedef double (*fold_fn)(const float *data, size_t n);

ISA_DECLARE_DISPATCH(fold_fn, plain)
ISA_DECLARE_DISPATCH(fold_fn, alike_1)
ISA_DECLARE_DISPATCH(fold_fn, alike_2)
ISA_DECLARE_DISPATCH(fold_fn, shared_variable)
ISA_DECLARE_DISPATCH(fold_fn, counts)
ISA_DECLARE_DISPATCH(fold_fn, starts)
ISA_DECLARE_DISPATCH(fold_fn, names)
ISA_DECLARE_DISPATCH(fold_fn, calls)
ISA_DECLARE_DISPATCH(fold_fn, called)
ISA_DECLARE_DISPATCH(fold_fn, unlike_1)
ISA_DECLARE_DISPATCH(fold_fn, unlike_2)
ISA_DECLARE_DISPATCH(fold_fn, in_a_set)

#ifdef __cplusplus
// The same in all sources that include it.
template <class T> __attribute__((noinline)) double total(const T *data, size_t n)
{
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += static_cast<double>(data[i]);
  return sum;
}

// Another number in another source, at the levels that have VNNI: which of both a linker keeps is for it to say.
#ifndef ADDED
#define ADDED 0
#endif
template <class T> __attribute__((noinline)) double added(const T *data, size_t n)
{
  double sum = ADDED;
  for (size_t i = 0; i < n; i++)
    sum += static_cast<double>(data[i]);
  return sum;
}

// One for all levels, as the language says.
template <class T> __attribute__((noinline)) double calls_so_far()
{
  static double calls = 0;
  return ++calls;
}
#endif
