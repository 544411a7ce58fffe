// Dot products of tiles of any shape and type, and copies by way of a tile.
#include "stubs.h"
#include "tiles.h"

namespace {

template <class Sum, class Left, class Right> void run(const dot_call &call)
{
  Tiles<Sum, Left, Right> tiles({{call.rows[0], call.column_bytes[0]},
                                 {call.rows[1], call.column_bytes[1]},
                                 {call.rows[2], call.column_bytes[2]}});
  auto c = tile<0>(tiles);
  auto a = tile<1>(tiles);
  auto b = tile<2>(tiles);
  if (call.zero)
    c.zero();
  else
    c.load(call.c, call.stride[0]);
  if (call.once) {
    a.load_once(call.a, call.stride[1]);
    b.load_once(call.b, call.stride[2]);
  } else {
    a.load(call.a, call.stride[1]);
    b.load(call.b, call.stride[2]);
  }
  dot(c, a, b);
  c.store(call.c, call.stride[0]);
}

void copy(const dot_call &call)
{
  Tiles<int8_t> tiles({{call.rows[1], call.column_bytes[1]}});
  auto a = tile<0>(tiles);
  if (a.rows() != call.rows[1] || a.column_bytes() != call.column_bytes[1])
    return;
  a.load(call.a, call.stride[1]);
  a.store(call.c, call.stride[0]);
}

// A function for every kind, and no `switch`: tests/support/tile_code.py does not read jump tables.
void dot_of(const dot_call *call)
{
  static constexpr void (*kinds[])(const dot_call &) = {
      run<int32_t, uint8_t, uint8_t>, run<int32_t, uint8_t, int8_t>, run<int32_t, int8_t, uint8_t>,
      run<int32_t, int8_t, int8_t>,   run<float, vec::bfloat16, vec::bfloat16>, copy};
  kinds[call->kind](*call);
}

} // namespace

ISA_REGISTER_DISPATCH(dot_stub, &dot_of)
