// The tile instructions of AMX. Included by tiles.h alone.
//
// They are written as assembly because GCC's own macros (amxtileintrin.h of GCC 11 to 13) paste the tile's number into
// text, which a template parameter cannot be, and do not say that LDTILECFG reads 64 bytes and that TILELOADD reads
// memory: GCC may then drop what was stored there. Clang takes the same assembly. MSVC has no assembly, and good
// intrinsics.
#ifndef ISAGEN_KERNELS_TILES_AMX_H
#define ISAGEN_KERNELS_TILES_AMX_H

#if defined(_MSC_VER) && !defined(__clang__)
#include <immintrin.h>
#endif

namespace {

// The operand of LDTILECFG (Intel SDM vol. 2, "LDTILECFG", table "Memory Area Layout").
struct TileConfigurationData {
  uint8_t palette;
  uint8_t start_row;
  uint8_t reserved[14];
  uint16_t column_bytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(TileConfigurationData) == 64, "LDTILECFG reads 64 bytes");

class TileBackend {
public:
  TILE_INLINE TileBackend(const TileShape *shapes, int count)
  {
    TileConfigurationData data = {};
    data.palette = 1;
    for (int i = 0; i < count; i++) {
      data.column_bytes[i] = static_cast<uint16_t>(shapes[i].column_bytes);
      data.rows[i] = static_cast<uint8_t>(shapes[i].rows);
    }
#if defined(_MSC_VER) && !defined(__clang__)
    _tile_loadconfig(&data);
#else
    __asm__ volatile("ldtilecfg\t%0" : : "m"(data));
#endif
  }

#if defined(_MSC_VER) && !defined(__clang__)

  TILE_INLINE void release() { _tile_release(); }
  template <int T> static TILE_INLINE void zero(TileBackend &) { _tile_zero(T); }
  template <int T> static TILE_INLINE void load(TileBackend &, const void *base, ptrdiff_t stride)
  {
    _tile_loadd(T, base, static_cast<int>(stride));
  }
  template <int T> static TILE_INLINE void load_once(TileBackend &, const void *base, ptrdiff_t stride)
  {
    _tile_stream_loadd(T, base, static_cast<int>(stride));
  }
  template <int T> static TILE_INLINE void store(TileBackend &, void *base, ptrdiff_t stride)
  {
    _tile_stored(T, base, static_cast<int>(stride));
  }
  template <int C, int A, bool SignedA, int B, bool SignedB> static TILE_INLINE void dot_bytes(TileBackend &)
  {
    if constexpr (SignedA && SignedB)
      _tile_dpbssd(C, A, B);
    else if constexpr (SignedA)
      _tile_dpbsud(C, A, B);
    else if constexpr (SignedB)
      _tile_dpbusd(C, A, B);
    else
      _tile_dpbuud(C, A, B);
  }
  template <int C, int A, int B> static TILE_INLINE void dot_bf16(TileBackend &) { _tile_dpbf16ps(C, A, B); }

#else

  TILE_INLINE void release() { __asm__ volatile("tilerelease"); }

  template <int T> static TILE_INLINE void zero(TileBackend &)
  {
    __asm__ volatile("{tilezero\t%%tmm%c0|tilezero\ttmm%c0}" : : "i"(T));
  }

  template <int T> static TILE_INLINE void load(TileBackend &, const void *base, ptrdiff_t stride)
  {
    __asm__ volatile("{tileloadd\t(%0,%1,1), %%tmm%c2|tileloadd\ttmm%c2, [%0+%1*1]}"
                     :
                     : "r"(base), "r"(stride), "i"(T)
                     : "memory");
  }

  template <int T> static TILE_INLINE void load_once(TileBackend &, const void *base, ptrdiff_t stride)
  {
    __asm__ volatile("{tileloaddt1\t(%0,%1,1), %%tmm%c2|tileloaddt1\ttmm%c2, [%0+%1*1]}"
                     :
                     : "r"(base), "r"(stride), "i"(T)
                     : "memory");
  }

  template <int T> static TILE_INLINE void store(TileBackend &, void *base, ptrdiff_t stride)
  {
    __asm__ volatile("{tilestored\t%%tmm%c2, (%0,%1,1)|tilestored\t[%0+%1*1], tmm%c2}"
                     :
                     : "r"(base), "r"(stride), "i"(T)
                     : "memory");
  }

#define TILE_DOT(instruction) \
  __asm__ volatile("{" instruction "\t%%tmm%c2, %%tmm%c1, %%tmm%c0|" instruction "\ttmm%c0, tmm%c1, tmm%c2}" \
                   : \
                   : "i"(C), "i"(A), "i"(B))

  template <int C, int A, bool SignedA, int B, bool SignedB> static TILE_INLINE void dot_bytes(TileBackend &)
  {
    if constexpr (SignedA && SignedB)
      TILE_DOT("tdpbssd");
    else if constexpr (SignedA)
      TILE_DOT("tdpbsud");
    else if constexpr (SignedB)
      TILE_DOT("tdpbusd");
    else
      TILE_DOT("tdpbuud");
  }

  template <int C, int A, int B> static TILE_INLINE void dot_bf16(TileBackend &) { TILE_DOT("tdpbf16ps"); }

#undef TILE_DOT

#endif
};

} // namespace

#endif
