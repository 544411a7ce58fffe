// The stubs of the matrix products.
//
// Matrices may begin at any address, odd ones too.
#ifndef ISAGEN_KERNELS_STUBS_MATMUL_H
#define ISAGEN_KERNELS_STUBS_MATMUL_H

#include "isa_dispatch.h"

#include <stddef.h>
#include <stdint.h>

// C[m][n] = A[m][k] B[k][n]; rows lie lda, ldb and ldc elements apart. Any of m, n and k may be zero; C does not
// overlap A or B.
struct matmul_shape {
  size_t m, n, k, lda, ldb, ldc;
};

// What a product packs its blocks into: memory of the caller's, of this size and alignment, one for each thread. It is
// the caller's because an allocation of this size costs as much as a small product: the system hands it out a page at a
// time.
constexpr size_t matmul_workspace_bytes = 768 * 1024;
constexpr size_t matmul_workspace_alignment = 64;

// Unsigned by signed bytes, summed modulo 2^32. Exact, the same at every level.
typedef void (*matmul_u8s8_fn)(int32_t *c, const uint8_t *a, const int8_t *b, const struct matmul_shape *shape,
                               void *workspace);
ISA_DECLARE_DISPATCH(matmul_u8s8_fn, matmul_u8s8_stub)

// bfloat16 bits, summed in float. Denormal elements and sums count as zero from AVX512_BF16 on; below, if MXCSR.DAZ and
// FTZ say so.
typedef void (*matmul_bf16_fn)(float *c, const uint16_t *a, const uint16_t *b, const struct matmul_shape *shape,
                               void *workspace);
ISA_DECLARE_DISPATCH(matmul_bf16_fn, matmul_bf16_stub)

// IEEE half precision bits, summed in float; at AVX512_FP16 runs of 32 products are summed in half precision first.
typedef void (*matmul_fp16_fn)(float *c, const uint16_t *a, const uint16_t *b, const struct matmul_shape *shape,
                               void *workspace);
ISA_DECLARE_DISPATCH(matmul_fp16_fn, matmul_fp16_stub)

#endif
