// What tests/kernels/test_tiles.py calls: the kernels at a level that the CPU supports, or an upper level's copies on
// the emulator.
#include "emulator.h"
#include "stubs.h"

#include <stdlib.h>
#include <string.h>

#include <exception>
#include <stdexcept>

ISA_DEFINE_DISPATCH(api_stub)
ISA_DEFINE_DISPATCH(dot_stub)
ISA_DEFINE_DISPATCH(ways_out_stub)
ISA_DEFINE_DISPATCH(tiles_u8s8_stub)
ISA_DEFINE_DISPATCH(tiles_bf16_stub)
ISA_DEFINE_DISPATCH(halves_fp16_stub)
ISA_DEFINE_DISPATCH(matmul_u8s8_stub)
ISA_DEFINE_DISPATCH(matmul_bf16_stub)
ISA_DEFINE_DISPATCH(matmul_fp16_stub)

#define EXPORT extern "C" __attribute__((visibility("default")))

// The copies of AMX and AVX512_FP16, by the names that ISA_REGISTER_DISPATCH gives them.
#define COPY(level, stub) extern "C" ISA_HIDDEN const stub##_isa_type isa_kernel_##level##__##stub;
#define COPIES(stub) COPY(AMX, stub) COPY(AVX512_FP16, stub)
COPIES(api_stub)
COPIES(dot_stub)
COPIES(ways_out_stub)
COPIES(tiles_u8s8_stub)
COPIES(tiles_bf16_stub)
COPIES(halves_fp16_stub)
COPIES(matmul_u8s8_stub)
COPIES(matmul_bf16_stub)
COPIES(matmul_fp16_stub)

namespace {

enum class Emulated { no, amx, avx512_fp16 };
Emulated emulated = Emulated::no;
char message[200];

// Calls a stub, or the copy that is emulated. Returns 0, or 1 with `message` set.
template <class Function, class... Arguments>
int call(Function stub, Function amx, Function fp16, Arguments... arguments)
{
  message[0] = 0;
  try {
    if (emulated == Emulated::no) {
      stub(arguments...);
    } else {
      const Emulator emulator;
      (emulated == Emulated::amx ? amx : fp16)(arguments...);
    }
  } catch (const std::exception &error) {
    strncpy(message, error.what(), sizeof message - 1);
    return 1;
  }
  return 0;
}
#define CALL(stub, ...) call(stub, isa_kernel_AMX__##stub, isa_kernel_AVX512_FP16__##stub, __VA_ARGS__)

void throw_at_5(int way)
{
  if (way == 5)
    throw std::runtime_error("way 5");
}

alignas(matmul_workspace_alignment) unsigned char workspace[matmul_workspace_bytes];

} // namespace

// Selects for later calls a level of this CPU or, with `emulate`, the copies for AMX or AVX512_FP16. Returns -1 if the
// level is not supported or not built.
EXPORT int use(const char *level, int emulate)
{
  emulated = Emulated::no;
  for (int i = 0; i < ISA_LEVEL_COUNT; i++) {
    const isa_level l = static_cast<isa_level>(i);
    if (strcmp(isa_level_name(l), level) != 0)
      continue;
    if (!emulate)
      return isa_use_level(l);
    emulated = strcmp(level, "AMX") == 0 ? Emulated::amx : Emulated::avx512_fp16;
    return isa_level_is_built(l) ? 0 : -1;
  }
  return -1;
}

EXPORT const char *last_message() { return message; }

EXPORT int api(int cond, short row, short col, int8_t *buf, const int8_t *buf2)
{
  return CALL(api_stub, cond, row, col, buf, buf2);
}

EXPORT int dot(const dot_call *arguments) { return CALL(dot_stub, arguments); }

EXPORT int ways_out(int way, int8_t *data) { return CALL(ways_out_stub, way, data, &throw_at_5); }

// The number of instructions emulated since the library was loaded, for tests of the tests.
EXPORT unsigned long emulated_instructions() { return Emulator::instructions; }
EXPORT int tiles_are_configured() { return Emulator::tiles_are_configured(); }

EXPORT int tiles_u8s8(int32_t *c, const uint8_t *a, const int8_t *b, const matmul_shape *shape)
{
  return CALL(tiles_u8s8_stub, c, a, b, shape, static_cast<void *>(workspace));
}
EXPORT int tiles_bf16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape)
{
  return CALL(tiles_bf16_stub, c, a, b, shape, static_cast<void *>(workspace));
}
EXPORT int halves_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape)
{
  return CALL(halves_fp16_stub, c, a, b, shape, static_cast<void *>(workspace));
}
EXPORT int matmul_u8s8(int32_t *c, const uint8_t *a, const int8_t *b, const matmul_shape *shape)
{
  return CALL(matmul_u8s8_stub, c, a, b, shape, static_cast<void *>(workspace));
}
EXPORT int matmul_bf16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape)
{
  return CALL(matmul_bf16_stub, c, a, b, shape, static_cast<void *>(workspace));
}
EXPORT int matmul_fp16(float *c, const uint16_t *a, const uint16_t *b, const matmul_shape *shape)
{
  return CALL(matmul_fp16_stub, c, a, b, shape, static_cast<void *>(workspace));
}
