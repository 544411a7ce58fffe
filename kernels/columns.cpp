// Sum, maximum and minimum of columns. Rows are combined item by item, so memory is read in its order, and the loops
// over neighbouring columns are plain ones that compilers vectorise.
#include "stubs/rows.h"
#include "vec.h"

namespace {

// The columns of a pass, whose results stay in the first level cache.
constexpr size_t strip = 512;

// Calls combine<rows>(from, result) for the rows of each strip, several at a time, and writes the results of the strip.
template <size_t together, typename Result, typename T, typename Combine>
VEC_INLINE void by_strips(Result *dst, const T *src, size_t rows, size_t columns, size_t stride, Combine combine)
{
  for (size_t column = 0; column < columns; column += strip) {
    const size_t width = columns - column < strip ? columns - column : strip;
    Result results[strip];
    const T *from = src + column;
    combine.begin(results, from, width);
    size_t row = 0;
    for (; rows - row >= together; row += together, from += together * stride)
      combine.template add<together>(results, from, width, stride);
    for (; row < rows; row++, from += stride)
      combine.template add<1>(results, from, width, stride);
    for (size_t i = 0; i < width; i++)
      vec::store_one(results[i], dst + column + i);
  }
}

template <typename T> struct SumOf {
  using type = double;
};
template <> struct SumOf<int32_t> {
  using type = int64_t;
};

// Floats of eight rows are added in their own precision, and these sums in double precision.
template <typename T> struct Sums {
  using Sum = typename SumOf<T>::type;
  static VEC_INLINE void begin(Sum *sums, const T *, size_t width)
  {
    for (size_t i = 0; i < width; i++)
      sums[i] = 0;
  }
  template <size_t rows> static VEC_INLINE void add(Sum *sums, const T *from, size_t width, size_t stride)
  {
    for (size_t i = 0; i < width; i++)
      sums[i] += tree<rows>(from + i, stride);
  }
  template <size_t rows> static VEC_INLINE auto tree(const T *from, size_t stride)
  {
    if constexpr (rows > 1)
      return tree<rows / 2>(from, stride) + tree<rows / 2>(from + rows / 2 * stride, stride);
    else if constexpr (vec::Float<T>::value)
      return vec::load_one(from);
    else
      return static_cast<Sum>(vec::load_one(from));
  }
};

template <typename T, bool largest> struct Extrema {
  static VEC_INLINE void begin(T *best, const T *from, size_t width)
  {
    for (size_t i = 0; i < width; i++)
      best[i] = vec::load_one(from + i);
  }
  template <size_t rows> static VEC_INLINE void add(T *best, const T *from, size_t width, size_t stride)
  {
    for (size_t i = 0; i < width; i++) {
      T result = best[i];
      UNROLL for (size_t row = 0; row < rows; row++) {
        const T x = vec::load_one(from + row * stride + i);
        result = (largest ? x > result : x < result) ? x : result;
        if constexpr (vec::Float<T>::value)
          result = x != x ? x : result;
      }
      best[i] = result;
    }
  }
};

template <typename T>
void sum_columns(typename SumOf<T>::type *dst, const T *src, size_t rows, size_t columns, size_t stride)
{
  by_strips<8>(dst, src, rows, columns, stride, Sums<T>());
}

template <typename T>
void extremum_columns(T *dst, const T *src, size_t rows, size_t columns, size_t stride, bool largest)
{
  if (largest)
    by_strips<4>(dst, src, rows, columns, stride, Extrema<T, true>());
  else
    by_strips<4>(dst, src, rows, columns, stride, Extrema<T, false>());
}

} // namespace

ISA_REGISTER_DISPATCH(sum_columns_float_stub, &sum_columns<float>)
ISA_REGISTER_DISPATCH(sum_columns_double_stub, &sum_columns<double>)
ISA_REGISTER_DISPATCH(sum_columns_int32_stub, &sum_columns<int32_t>)
ISA_REGISTER_DISPATCH(extremum_columns_float_stub, &extremum_columns<float>)
ISA_REGISTER_DISPATCH(extremum_columns_double_stub, &extremum_columns<double>)
ISA_REGISTER_DISPATCH(extremum_columns_int32_stub, &extremum_columns<int32_t>)
ISA_REGISTER_DISPATCH(extremum_columns_int8_stub, &extremum_columns<int8_t>)
ISA_REGISTER_DISPATCH(extremum_columns_uint8_stub, &extremum_columns<uint8_t>)
