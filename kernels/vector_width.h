// The vector width of a level's kernels, from the CPU_CAPABILITY_ macros.
#ifndef ISAGEN_KERNELS_VECTOR_WIDTH_H
#define ISAGEN_KERNELS_VECTOR_WIDTH_H

// 0: one element at a time. Tests set -DVECTOR_BYTES=0 at any level; it does not change tiles.
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
