/* The operations on arrays, and the functions that each source has. */
#ifndef OPS_H
#define OPS_H

/* Macros of a project, as pixman and others have them: isagen's headers use no such word. */
#define noinline __attribute__((__noinline__))
#define target 1
#define visibility 1

#include "isa_dispatch.h"
#include <stddef.h>

typedef void (*scale_fn)(float *data, float factor, size_t n);
typedef float (*total_fn)(const float *data, size_t n);
typedef const char *(*source_fn)(void);
ISA_DECLARE_DISPATCH(scale_fn, scale)
ISA_DECLARE_DISPATCH(total_fn, total)
ISA_DECLARE_DISPATCH(source_fn, scale_source)
ISA_DECLARE_DISPATCH(source_fn, total_source)

void scale_c(float *data, float factor, size_t n);
float total_c(const float *data, size_t n);
void scale_avx2(float *data, float factor, size_t n);
float total_avx512(const float *data, size_t n);
const char *scale_source_c(void);
const char *total_source_c(void);
const char *scale_source_avx2(void);
const char *total_source_avx512(void);

#endif
