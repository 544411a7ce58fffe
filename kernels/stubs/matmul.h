// The stubs of the matrix products.
//
// Matrices may have any alignment.
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

// The caller provides each thread with a workspace of this size and alignment, into which a product packs its blocks.
// The kernel does not allocate it, because page faults of a new allocation take as long as a small product.
constexpr size_t matmul_workspace_bytes = 768 * 1024;
constexpr size_t matmul_workspace_alignment = 64;

// Products of unsigned and signed bytes, summed modulo 2^32: exact, and the same at every level.
typedef void (*matmul_u8s8_fn)(int32_t *c, const uint8_t *a, const int8_t *b, const struct matmul_shape *shape,
                               void *workspace);
ISA_DECLARE_DISPATCH(matmul_u8s8_fn, matmul_u8s8_stub)

// Products of bfloat16, passed as bits, summed in float. Denormal elements and sums count as zero from AVX512_BF16 on,
// and on arm64 from BF16 on; at lower levels only if MXCSR.DAZ and FTZ, or FPCR.FZ, are set.
typedef void (*matmul_bf16_fn)(float *c, const uint16_t *a, const uint16_t *b, const struct matmul_shape *shape,
                               void *workspace);
ISA_DECLARE_DISPATCH(matmul_bf16_fn, matmul_bf16_stub)

// Products of IEEE half precision numbers, passed as bits, summed in float. At AVX512_FP16, each 32 products are summed
// in half precision first.
typedef void (*matmul_fp16_fn)(float *c, const uint16_t *a, const uint16_t *b, const struct matmul_shape *shape,
                               void *workspace);
ISA_DECLARE_DISPATCH(matmul_fp16_fn, matmul_fp16_stub)

#endif
