// The tile instructions of AMX. Included by tiles.h alone.
//
// The instructions are written as assembly, because GCC's macros (amxtileintrin.h of GCC 11 to 13) have two faults.
// They paste the tile's number into text, which does not work with a template parameter. They do not declare that
// LDTILECFG and TILELOADD read memory, so that GCC may drop stores to this memory. Clang accepts the same assembly.
#ifndef ISAGEN_KERNELS_TILES_AMX_H
#define ISAGEN_KERNELS_TILES_AMX_H

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
  VEC_INLINE TileBackend(const TileShape *shapes, int count)
  {
    TileConfigurationData data = {};
    data.palette = 1;
    for (int i = 0; i < count; i++) {
      data.column_bytes[i] = static_cast<uint16_t>(shapes[i].column_bytes);
      data.rows[i] = static_cast<uint8_t>(shapes[i].rows);
    }
    __asm__ volatile("ldtilecfg\t%0" : : "m"(data));
  }

  VEC_INLINE void release() { __asm__ volatile("tilerelease"); }

  template <int T> static VEC_INLINE void zero(TileBackend &)
  {
    __asm__ volatile("{tilezero\t%%tmm%c0|tilezero\ttmm%c0}" : : "i"(T));
  }

  template <int T> static VEC_INLINE void load(TileBackend &, const void *base, ptrdiff_t stride)
  {
    __asm__ volatile("{tileloadd\t(%0,%1,1), %%tmm%c2|tileloadd\ttmm%c2, [%0+%1*1]}"
                     :
                     : "r"(base), "r"(stride), "i"(T)
                     : "memory");
  }

  template <int T> static VEC_INLINE void load_once(TileBackend &, const void *base, ptrdiff_t stride)
  {
    __asm__ volatile("{tileloaddt1\t(%0,%1,1), %%tmm%c2|tileloaddt1\ttmm%c2, [%0+%1*1]}"
                     :
                     : "r"(base), "r"(stride), "i"(T)
                     : "memory");
  }

  template <int T> static VEC_INLINE void store(TileBackend &, void *base, ptrdiff_t stride)
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

  template <int C, int A, bool SignedA, int B, bool SignedB> static VEC_INLINE void dot_bytes(TileBackend &)
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

  template <int C, int A, int B> static VEC_INLINE void dot_bf16(TileBackend &) { TILE_DOT("tdpbf16ps"); }

#undef TILE_DOT
};

} // namespace

#endif
