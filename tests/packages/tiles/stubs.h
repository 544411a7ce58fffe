// The stubs of the test kernels.
#ifndef STUBS_H
#define STUBS_H

#include "stubs/matmul.h"

#include <stddef.h>
#include <stdint.h>

// The function of the AMX programming model discussion (llvm-dev, August 2020): three tiles of one shape are loaded from
// `buf` or `buf2`, and buf becomes c + a b of signed bytes. The stride is 64 bytes.
typedef void (*api_fn)(int cond, short row, short col, int8_t *buf, const int8_t *buf2);
ISA_DECLARE_DISPATCH(api_fn, api_stub)

// One dot product of tiles of any shape. `kind`: 0 to 3 bytes, by whether a (2) and b (1) are signed; 4 bfloat16; 5: no
// dot product, but a copy of a to c.
struct dot_call {
  int kind;
  int zero; // c begins as zero, not as what is there
  int once; // a and b are loaded once
  int rows[3], column_bytes[3]; // of c, a, b
  void *c;
  const void *a, *b;
  ptrdiff_t stride[3];
};
typedef void (*dot_fn)(const struct dot_call *call);
ISA_DECLARE_DISPATCH(dot_fn, dot_stub)

// A kernel with many ways out: returns early at way 1, from a loop at 2 to 4, by an exception of `callback` at 5.
typedef int (*ways_out_fn)(int way, int8_t *data, void (*callback)(int way));
ISA_DECLARE_DISPATCH(ways_out_fn, ways_out_stub)

// The products over tiles, and over half precision, at every level.
ISA_DECLARE_DISPATCH(matmul_u8s8_fn, tiles_u8s8_stub)
ISA_DECLARE_DISPATCH(matmul_bf16_fn, tiles_bf16_stub)
ISA_DECLARE_DISPATCH(matmul_fp16_fn, halves_fp16_stub)

#endif
