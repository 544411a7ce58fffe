// Tiles: AMX's matrix registers at levels that have AMX, a software model of them at other levels.
//
//   Tiles<int32_t, uint8_t, int8_t> tiles({{16, 64}, {16, 64}, {16, 64}});    // rows, bytes per row
//   auto c = tile<0>(tiles);                                                  // a Tile of int32_t
//   auto a = tile<1>(tiles);
//   auto b = tile<2>(tiles);
//   c.zero();
//   a.load(left, left_stride);                                                // strides in bytes
//   b.load(right, right_stride);
//   dot(c, a, b);
//   c.store(out, out_stride);
//
// `Tiles` is the tile configuration of a kernel, which fixes the tiles' shapes. Construct one at the kernel's entry:
// the constructor executes LDTILECFG. A Tile cannot exist without a configuration, so no tile instruction comes before
// LDTILECFG. The destructor executes TILERELEASE on every way out of the scope, exceptions included. A tile's number
// and element type are part of its C++ type, because instructions name tiles by constants, and the element types select
// the instruction.
//
// All functions here are inlined into the kernel. Do not call other functions while tiles contain data: a callee may
// overwrite all tiles (System V ABI).
//
// Clang's type __tile1024i is not used: with it, the compiler itself decides where to configure tiles, and GCC has no
// such type.
#ifndef ISAGEN_KERNELS_TILES_H
#define ISAGEN_KERNELS_TILES_H

#include "vec/base.h"

#include <type_traits>

namespace {

// The shape of a tile: 1 to 16 rows of 4 to 64 bytes, a multiple of 4.
struct TileShape {
  int rows;
  int column_bytes;
};

} // namespace

#if defined(CPU_CAPABILITY_AMX)
#include "tiles_amx.h"
#else
#include "tiles_model.h"
#endif

namespace {

template <class... Elements> class Tiles;

// A tile of a configuration. Do not use it after the configuration is destroyed.
template <int Number, class Element> class Tile {
public:
  VEC_INLINE int rows() const { return shape_.rows; }
  VEC_INLINE int column_bytes() const { return shape_.column_bytes; }

  // Sets every element to zero.
  VEC_INLINE void zero() { TileBackend::zero<Number>(backend_); }

  // Loads rows() rows of column_bytes() bytes from `base`, `stride` bytes apart.
  VEC_INLINE void load(const void *base, ptrdiff_t stride) { TileBackend::load<Number>(backend_, base, stride); }

  // Loads as `load` does, with the hint that the data is not used again soon.
  VEC_INLINE void load_once(const void *base, ptrdiff_t stride)
  {
    TileBackend::load_once<Number>(backend_, base, stride);
  }

  // Stores rows() rows of column_bytes() bytes; memory between the rows is not changed.
  VEC_INLINE void store(void *base, ptrdiff_t stride) const { TileBackend::store<Number>(backend_, base, stride); }

private:
  template <class... Elements> friend class Tiles;
  template <int C, class Sum, int A, class Left, int B, class Right>
  friend void dot(Tile<C, Sum> c, Tile<A, Left> a, Tile<B, Right> b);

  VEC_INLINE Tile(TileShape shape, TileBackend &backend) : shape_(shape), backend_(backend) {}

  const TileShape shape_;
  TileBackend &backend_;
};

// Adds the matrix product of a and b to c. Rows of b are interleaved by fours (bytes) or twos (bfloat16): of bytes, row
// i of tile b contains, at 4j to 4j + 3, the elements 4i to 4i + 3 of column j.
//
//   c int32_t, a and b int8_t or uint8_t (any of the four pairs): exact modulo 2^32, nothing saturates
//   c float, a and b vec::bfloat16: see tile_dot_bf16() in tiles_model.h
template <int C, class Sum, int A, class Left, int B, class Right>
VEC_INLINE void dot(Tile<C, Sum> c, Tile<A, Left> a, Tile<B, Right> b)
{
  static_assert(C != A && A != B && B != C, "the three tiles of a dot product are different ones");
  if constexpr (std::is_same_v<Sum, float>) {
    static_assert(std::is_same_v<Left, vec::bfloat16> && std::is_same_v<Right, vec::bfloat16>,
                  "a float tile sums products of bfloat16");
    TileBackend::dot_bf16<C, A, B>(c.backend_);
  } else {
    static_assert(std::is_same_v<Sum, int32_t>, "dot products are summed in int32_t or float");
    static_assert(std::is_integral_v<Left> && sizeof(Left) == 1 && std::is_integral_v<Right> && sizeof(Right) == 1,
                  "an int32_t tile sums products of bytes");
    TileBackend::dot_bytes<C, A, std::is_signed_v<Left>, B, std::is_signed_v<Right>>(c.backend_);
  }
  (void)a;
  (void)b;
}

// A configuration with one tile for each type in Elements, numbered from 0.
template <class... Elements> class Tiles {
public:
  static constexpr int count = sizeof...(Elements);
  static_assert(0 < count && count <= 8, "there are eight tiles");

  VEC_INLINE explicit Tiles(const TileShape (&shapes)[count]) : backend_(shapes, count)
  {
    for (int i = 0; i < count; i++)
      shapes_[i] = shapes[i];
  }
  VEC_INLINE ~Tiles() { backend_.release(); }
  Tiles(const Tiles &) = delete;
  Tiles &operator=(const Tiles &) = delete;

  template <int Number> VEC_INLINE auto get()
  {
    return Tile<Number, typename Nth<Number, Elements...>::Type>(shapes_[Number], backend_);
  }

private:
  template <int N, class First, class... Rest> struct Nth : Nth<N - 1, Rest...> {};
  template <class First, class... Rest> struct Nth<0, First, Rest...> {
    using Type = First;
  };

  TileShape shapes_[count];
  TileBackend backend_;
};

// Returns tile number `Number` of a configuration.
template <int Number, class... Elements> VEC_INLINE auto tile(Tiles<Elements...> &tiles)
{
  return tiles.template get<Number>();
}

} // namespace

#endif
