// The width of the vectors that a level's kernels work with, from the CPU_CAPABILITY_ macros.
#ifndef ISAGEN_KERNELS_VECTOR_WIDTH_H
#define ISAGEN_KERNELS_VECTOR_WIDTH_H

#if defined(CPU_CAPABILITY_AVX512)
#define VECTOR_BYTES 64
#elif defined(CPU_CAPABILITY_AVX2)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16 // SSE2, NEON and their like: what every 64-bit architecture's baseline has
#endif

#endif
