// A kernel with many ways out: each has to release the tiles.
#include "stubs.h"
#include "tiles.h"

namespace {

int ways_out(int way, int8_t *data, void (*callback)(int way))
{
  Tiles<int32_t, int8_t, int8_t> tiles({{4, 16}, {4, 16}, {4, 16}});
  auto c = tile<0>(tiles);
  auto a = tile<1>(tiles);
  auto b = tile<2>(tiles);
  c.zero();
  if (way == 1)
    return 100;
  a.load(data, 16);
  b.load(data, 16);
  for (int i = 0; i < 8; i++) {
    dot(c, a, b);
    if (way > 1 && way < 5 && i == way)
      return i;
    if (data[i] == 0)
      break;
  }
  c.store(data, 16);
  callback(way);
  return 0;
}

} // namespace

ISA_REGISTER_DISPATCH(ways_out_stub, &ways_out)
