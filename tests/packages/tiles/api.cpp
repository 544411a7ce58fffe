// The example function of the AMX programming model discussion: stubs.h.
#include "stubs.h"
#include "tiles.h"

namespace {

constexpr ptrdiff_t stride = 64;

void api(int cond, short row, short col, int8_t *buf, const int8_t *buf2)
{
  Tiles<int8_t, int8_t, int32_t> tiles({{row, col}, {row, col}, {row, col}});
  auto a = tile<0>(tiles);
  auto b = tile<1>(tiles);
  auto c = tile<2>(tiles);

  if (cond) {
    a.load(buf, stride);
    b.load(buf, stride);
    c.load(buf, stride);
  } else {
    a.load(buf2, stride);
    b.load(buf2, stride);
    c.load(buf2, stride);
  }
  dot(c, a, b);
  c.store(buf, stride);
}

} // namespace

ISA_REGISTER_DISPATCH(api_stub, &api)
