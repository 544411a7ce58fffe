// Defines VECTOR_BYTES, the width of vectors at the level that is being compiled, by the macros CPU_CAPABILITY_*.
#ifndef ISAGEN_KERNELS_VECTOR_WIDTH_H
#define ISAGEN_KERNELS_VECTOR_WIDTH_H

// 0 means one element at a time. Tests compile with -DVECTOR_BYTES=0 at any level, which does not change tiles.
#ifndef VECTOR_BYTES
#if defined(CPU_CAPABILITY_AVX512)
#define VECTOR_BYTES 64
#elif defined(CPU_CAPABILITY_AVX2) || defined(CPU_CAPABILITY_SVE256)
#define VECTOR_BYTES 32
#elif defined(__GNUC__) && (defined(__SSE2__) || defined(__ARM_NEON) || defined(__VSX__) || defined(__VX__) || \
                            defined(__loongarch_sx) || defined(__mips_msa) || defined(__wasm_simd128__))
#define VECTOR_BYTES 16
#else
#define VECTOR_BYTES 0
#endif
#endif

#endif
