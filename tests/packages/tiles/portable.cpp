// What main.cpp calls where there is one level and no isagen: -DPORTABLE. The kernels are compiled beside it.
#include "stubs/matmul.h"

namespace {

alignas(matmul_workspace_alignment) unsigned char workspace[matmul_workspace_bytes];

} // namespace

extern "C" {

int use(const char *, int) { return 0; }

int matmul_u8s8(int32_t *c, const uint8_t *a, const int8_t *b, const matmul_shape *shape)
{
  matmul_u8s8_stub(c, a, b, shape, workspace);
  return 0;
}

int matmul_bf16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape)
{
  matmul_bf16_stub(c, a, b, shape, workspace);
  return 0;
}

int matmul_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape)
{
  matmul_fp16_stub(c, a, b, shape, workspace);
  return 0;
}
}
