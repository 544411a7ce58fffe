/* WIDTH: the vector width in bits for which this code is compiled, which identifies its level. */
#ifndef WIDTH_H
#define WIDTH_H

#if defined(__AVX512F__)
#define WIDTH 512
#elif defined(__AVX2__)
#define WIDTH 256
#else
#define WIDTH 128
#endif

#endif
