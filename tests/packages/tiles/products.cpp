// The products over tiles and over half precision arithmetic, at every level: in hardware where the level has it.
#include "matmul_halves.h"
#include "matmul_tiles.h"
#include "stubs.h"

namespace {

void tiles_u8s8(int32_t *c, const uint8_t *a, const int8_t *b, const matmul_shape *shape, void *workspace)
{
  matmul_blocked<TileKind<U8S8Bytes>>(c, a, b, *shape, workspace);
}

void tiles_bf16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape, void *workspace)
{
  matmul_blocked<TileKind<Bf16Pairs>>(c, a, b, *shape, workspace);
}

void halves_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape, void *workspace)
{
  matmul_blocked<HalfKind>(c, a, b, *shape, workspace);
}

} // namespace

ISA_REGISTER_DISPATCH(tiles_u8s8_stub, &tiles_u8s8)
ISA_REGISTER_DISPATCH(tiles_bf16_stub, &tiles_bf16)
ISA_REGISTER_DISPATCH(halves_fp16_stub, &halves_fp16)
