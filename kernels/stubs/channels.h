// The stubs of kernels that move channels: channel shuffle in both layouts, and ShuffleNet's fused concat and shuffle.
//
// Elements of 1, 2, 4 or 8 bytes are moved as bits. Pointers may have any alignment. `past_caches`: write without
// keeping the result in the caches.
#ifndef ISAGEN_KERNELS_STUBS_CHANNELS_H
#define ISAGEN_KERNELS_STUBS_CHANNELS_H

#include "isa_dispatch.h"

#include <stddef.h>
#include <stdint.h>

// Channels first, [n][groups][per_group][row_bytes] -> [n][per_group][groups][row_bytes]. Writes the rows `first` ..
// `last` - 1 of the result, which are numbered across all n.
typedef void (*shuffle_rows_fn)(char *dst, const char *src, size_t first, size_t last, size_t groups, size_t per_group,
                                size_t row_bytes, bool past_caches);
ISA_DECLARE_DISPATCH(shuffle_rows_fn, shuffle_rows_stub)

// Channels last: each of `pixels` is transposed, [groups][per_group] -> [per_group][groups].
typedef void (*shuffle_pixels_fn)(char *dst, const char *src, size_t pixels, size_t groups, size_t per_group,
                                  size_t item_size, bool past_caches);
ISA_DECLARE_DISPATCH(shuffle_pixels_fn, shuffle_pixels_stub)

// Concatenation and a shuffle in two groups, with channels last: dst[p][2 c] = a[p][c], dst[p][2 c + 1] = b[p][c].
// Pixels are a_stride bytes apart in a, and b_stride bytes in b.
typedef void (*interleave_pixels_fn)(char *dst, const char *a, size_t a_stride, const char *b, size_t b_stride,
                                     size_t pixels, size_t channels, size_t item_size, bool past_caches);
ISA_DECLARE_DISPATCH(interleave_pixels_fn, interleave_pixels_stub)

#endif
