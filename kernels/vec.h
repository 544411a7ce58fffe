// Vectorized<T>: the vectors with which a kernel has one source for all levels.
//
// For kernel sources only: the compiled code depends on the level. T is float, double, a fixed-width integer, or one of
// the 16-bit floats vec::bfloat16 and vec::half, which contain their bits. A vector has the level's width
// (vector_width.h). Without a vector unit, it has one element, and the kernel becomes a scalar loop.
//
//   vec/base.h       types, lanes, arithmetic, comparison, blend, minimum and maximum, fmadd
//   vec/memory.h     loads and stores: whole, of the first n elements, and past the caches
//   vec/shuffle.h    interleave2, deinterleave2, shift_in, last, reduce_all
//   vec/convert.h    float to bfloat16, half and int32, and back; arithmetic of the 16-bit types
//   vec/exp.h        exp
//   vec/log.h        log of normal floats
//
// The implementation uses the vector extensions that GCC and Clang share, and intrinsics only for operations that the
// extensions lack or compile badly (docs/kernels.md gives the measurements).
#ifndef ISAGEN_KERNELS_VEC_H
#define ISAGEN_KERNELS_VEC_H

#include "vec/base.h"
#include "vec/memory.h"
#include "vec/shuffle.h"
#include "vec/convert.h"
#include "vec/exp.h"
#include "vec/log.h"

#endif
