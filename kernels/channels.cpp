// Channel shuffle, channels first and channels last, and ShuffleNet's fused concatenation and shuffle.
//
// With channels last, a pixel is transposed: [groups, channels per group] -> [channels per group, groups]. For 2^k
// groups this is k perfect shuffles of the pixel, each of which interleaves its first half with its second
// (interleave2).
#include "loop.h"
#include "stubs/channels.h"

namespace {

template <typename T> using Vec = Vectorized<T>;

VEC_INLINE void copy(char *dst, const char *src, size_t bytes, bool past_caches)
{
  writing<uint8_t>(dst, bytes, past_caches, [&](size_t i, auto how) {
    how.store(how.load(reinterpret_cast<const uint8_t *>(src) + i, 0), reinterpret_cast<uint8_t *>(dst) + i);
  });
}

// ---- channels first: rows are copied

void shuffle_rows(char *dst, const char *src, size_t first, size_t last, size_t groups, size_t per_group,
                  size_t row_bytes, bool past_caches)
{
  const size_t channels = groups * per_group;
  size_t group = first % groups, channel = first / groups % per_group, image = first / channels;
  for (size_t row = first; row < last; row++) {
    const size_t from = image * channels + group * per_group + channel;
    copy(dst + row * row_bytes, src + from * row_bytes, row_bytes, past_caches);
    if (++group == groups) {
      group = 0;
      if (++channel == per_group) {
        channel = 0;
        image++;
      }
    }
  }
  if (past_caches)
    vec::fence_streams();
}

// ---- channels last: pixels are transposed

// One perfect shuffle of an array of `count` vectors: interleave2 of each vector with one of the second half.
template <int count, typename T, typename Interleave>
VEC_INLINE void perfect_shuffle(Vec<T> (&v)[count], Interleave interleave2)
{
  Vec<T> w[count];
  UNROLL for (int i = 0; i < count / 2; i++) {
    const vec::Pair<T> pair = interleave2(v[i], v[i + count / 2]);
    w[2 * i] = pair.first;
    w[2 * i + 1] = pair.second;
  }
  UNROLL for (int i = 0; i < count; i++)
    v[i] = w[i];
}

template <int count, typename T> VEC_INLINE void perfect_shuffles(Vec<T> (&v)[count], int rounds)
{
  for (; rounds > 0; rounds--)
    perfect_shuffle(v, [](Vec<T> a, Vec<T> b) { return vec::interleave2(a, b); });
}

// Pixels of exactly `count` vectors.
template <int count, typename T> void shuffle_in_registers(T *dst, const T *src, size_t pixels, int rounds)
{
  constexpr size_t width = Vec<T>::size();
  for (size_t pixel = 0; pixel < pixels; pixel++, dst += count * width, src += count * width) {
    Vec<T> v[count];
    UNROLL for (int i = 0; i < count; i++)
      v[i] = Vec<T>::loadu(src + static_cast<size_t>(i) * width);
    perfect_shuffles(v, rounds);
    UNROLL for (int i = 0; i < count; i++)
      v[i].store(dst + static_cast<size_t>(i) * width);
  }
}

[[maybe_unused]] constexpr int log2_of(int power) // unused without vectors
{
  return power > 1 ? 1 + log2_of(power / 2) : 0;
}

// Transposes one vector of each group.
template <int groups, typename T> VEC_INLINE void transpose(Vec<T> (&v)[groups])
{
#if VECTOR_BYTES == 32
  // AVX2 interleaves within 16 bytes. The correction costs as much again, so it is done once for all rounds.
  for (int rounds = log2_of(groups); rounds > 0; rounds--)
    perfect_shuffle(v, [](Vec<T> a, Vec<T> b) { return vec::interleave2_by_16(a, b, vec::Lanes<T>()); });
  Vec<T> w[groups];
  UNROLL for (int i = 0; i < groups / 2; i++) {
    const vec::Pair<T> pair = vec::join_halves(v[2 * i], v[2 * i + 1], vec::Lanes<T>());
    w[i] = pair.first;
    w[i + groups / 2] = pair.second;
  }
  UNROLL for (int i = 0; i < groups; i++)
    v[i] = w[i];
#else
  perfect_shuffles(v, log2_of(groups));
#endif
}

// One pixel with groups of n elements. One vector of each group gives `groups` vectors of the result.
template <int groups, typename T> VEC_INLINE void weave(T *dst, const T *const (&from)[groups], size_t n)
{
  constexpr size_t width = Vec<T>::size();
  size_t i = 0;
  for (; n - i >= width; i += width, dst += groups * width) {
    Vec<T> v[groups];
    UNROLL for (int g = 0; g < groups; g++)
      v[g] = Vec<T>::loadu(from[g] + i);
    transpose(v);
    UNROLL for (int g = 0; g < groups; g++)
      v[g].store(dst + static_cast<size_t>(g) * width);
  }
  if (i < n) {
    Vec<T> v[groups];
    UNROLL for (int g = 0; g < groups; g++)
      v[g] = Vec<T>::loadu(from[g] + i, n - i);
    transpose(v);
    size_t left = (n - i) * groups;
    UNROLL for (int g = 0; g < groups; g++) {
      const size_t here = left < width ? left : width;
      if (here > 0)
        v[g].store(dst + static_cast<size_t>(g) * width, here);
      left -= here;
    }
  }
}

template <int groups, typename T> void shuffle_by_groups(T *dst, const T *src, size_t pixels, size_t per_group)
{
  for (size_t pixel = 0; pixel < pixels; pixel++, dst += groups * per_group, src += groups * per_group) {
    const T *from[groups];
    for (int g = 0; g < groups; g++)
      from[g] = src + static_cast<size_t>(g) * per_group;
    weave<groups>(dst, from, per_group);
  }
}

template <typename T> void shuffle_one_by_one(T *dst, const T *src, size_t pixels, size_t groups, size_t per_group)
{
  for (size_t pixel = 0; pixel < pixels; pixel++, dst += groups * per_group, src += groups * per_group)
    for (size_t channel = 0; channel < per_group; channel++)
      for (size_t group = 0; group < groups; group++)
        vec::store_one(vec::load_one(src + group * per_group + channel), dst + channel * groups + group);
}

template <typename T> void shuffle(T *dst, const T *src, size_t pixels, size_t groups, size_t per_group)
{
#if VECTOR_BYTES > 0
  constexpr size_t width = Vec<T>::size();
  const size_t channels = groups * per_group;
  const bool power_of_two = (groups & (groups - 1)) == 0;
  int rounds = 0;
  while (power_of_two && groups >> rounds > 1)
    rounds++;
  if (power_of_two && channels == 2 * width)
    return shuffle_in_registers<2>(dst, src, pixels, rounds);
  if (power_of_two && channels == 4 * width)
    return shuffle_in_registers<4>(dst, src, pixels, rounds);
  if (power_of_two && channels == 8 * width && (VECTOR_BYTES == 64 || groups > 8)) // 16 registers are too few
    return shuffle_in_registers<8>(dst, src, pixels, rounds);
  if (groups == 2)
    return shuffle_by_groups<2>(dst, src, pixels, per_group);
  if (groups == 4)
    return shuffle_by_groups<4>(dst, src, pixels, per_group);
  if (groups == 8)
    return shuffle_by_groups<8>(dst, src, pixels, per_group);
#endif
  shuffle_one_by_one(dst, src, pixels, groups, per_group);
}

template <typename T>
void interleave(T *dst, const char *a, size_t a_stride, const char *b, size_t b_stride, size_t pixels, size_t channels)
{
  for (size_t pixel = 0; pixel < pixels; pixel++, dst += 2 * channels) {
    const T *const x = reinterpret_cast<const T *>(a + pixel * a_stride);
    const T *const y = reinterpret_cast<const T *>(b + pixel * b_stride);
#if VECTOR_BYTES > 0
    weave<2>(dst, {x, y}, channels);
#else
    for (size_t channel = 0; channel < channels; channel++) {
      vec::store_one(vec::load_one(x + channel), dst + 2 * channel);
      vec::store_one(vec::load_one(y + channel), dst + 2 * channel + 1);
    }
#endif
  }
}

// Non-temporal stores need aligned lines, and pixels are not aligned, so a few pixels at a time are computed in this
// buffer. Each line that is written prefetches a line that is needed soon, so that reads and writes overlap.
constexpr size_t waiting_bytes = 2048;

// make(to, first, count) computes `count` pixels of pixel_bytes each. ask(pixel, offset) prefetches the source of the
// result's line at this byte of the pixel.
template <typename Make, typename Ask>
VEC_INLINE void by_pixels(char *dst, size_t pixels, size_t pixel_bytes, bool past_caches, Make make, Ask ask)
{
  if (!past_caches || pixel_bytes > waiting_bytes)
    return make(dst, size_t(0), pixels);
  alignas(64) uint8_t waiting[waiting_bytes];
  const size_t some = pixel_bytes > 0 ? waiting_bytes / pixel_bytes : 1;
  for (size_t first = 0; first < pixels; first += some) {
    const size_t count = pixels - first < some ? pixels - first : some;
    uint8_t *const to = reinterpret_cast<uint8_t *>(dst) + first * pixel_bytes;
    make(reinterpret_cast<char *>(waiting), first, count);
    size_t pixel = first + 2 * some, asked = 0; // asked: the bytes of this block's pixels before `pixel`
    writing<uint8_t>(to, count * pixel_bytes, true, [&](size_t i, auto how) {
      for (; i - asked >= pixel_bytes; asked += pixel_bytes)
        pixel++;
      if (i % 64 < static_cast<size_t>(Vectorized<uint8_t>::size()))
        ask(pixel, i - asked);
      how.store(how.load(waiting + i, 0), to + i);
    });
  }
  vec::fence_streams();
}

// Calls `call` with an item of `bytes` bytes, whose type is what `call` uses.
template <typename Call> VEC_INLINE void with_item_of(size_t bytes, Call call)
{
  if (bytes == 1)
    call(uint8_t());
  else if (bytes == 2)
    call(uint16_t());
  else if (bytes == 4)
    call(uint32_t());
  else
    call(uint64_t());
}

void shuffle_pixels(char *dst, const char *src, size_t pixels, size_t groups, size_t per_group, size_t item_size,
                    bool past_caches)
{
  const size_t bytes = groups * per_group * item_size;
  if (groups <= 1 || per_group <= 1) {
    copy(dst, src, pixels * bytes, past_caches);
    if (past_caches)
      vec::fence_streams();
    return;
  }
  const auto make = [&](char *to, size_t first, size_t count) {
    with_item_of(item_size, [&](auto item) {
      using T = decltype(item);
      shuffle(reinterpret_cast<T *>(to), reinterpret_cast<const T *>(src + first * bytes), count, groups, per_group);
    });
  };
  by_pixels(dst, pixels, bytes, past_caches, make,
            [&](size_t pixel, size_t offset) { ask_ahead(src, pixel * bytes + offset); });
}

void interleave_pixels(char *dst, const char *a, size_t a_stride, const char *b, size_t b_stride, size_t pixels,
                       size_t channels, size_t item_size, bool past_caches)
{
  const auto make = [&](char *to, size_t first, size_t count) {
    with_item_of(item_size, [&](auto item) {
      interleave(reinterpret_cast<decltype(item) *>(to), a + first * a_stride, a_stride, b + first * b_stride, b_stride,
                 count, channels);
    });
  };
  by_pixels(dst, pixels, 2 * channels * item_size, past_caches, make, [&](size_t pixel, size_t offset) {
    ask_ahead(a, pixel * a_stride + offset / 2);
    ask_ahead(b, pixel * b_stride + offset / 2);
  });
}

} // namespace

ISA_REGISTER_DISPATCH(shuffle_rows_stub, &shuffle_rows)
ISA_REGISTER_DISPATCH(shuffle_pixels_stub, &shuffle_pixels)
ISA_REGISTER_DISPATCH(interleave_pixels_stub, &interleave_pixels)
