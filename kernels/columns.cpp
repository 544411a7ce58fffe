// Sum, maximum and minimum of columns. Each row is added to the results of all columns, so memory is read in its order.
// The loops over columns are plain ones, which compilers vectorise.
#include "stubs/rows.h"
#include "vec.h"

namespace {

// Begins the results of the columns, adds `together` rows at a time and then single rows, and writes the results.
template <typename Reduction, size_t together, typename Result, typename T>
VEC_INLINE void reduce_columns(Result *dst, const T *src, size_t rows, size_t columns, size_t stride)
{
  Result results[most_columns];
  Reduction::begin(results, src, columns);
  for (; rows >= together; rows -= together, src += together * stride)
    Reduction::template add<together>(results, src, columns, stride);
  for (; rows > 0; rows--, src += stride)
    Reduction::template add<1>(results, src, columns, stride);
  for (size_t i = 0; i < columns; i++)
    vec::store_one(results[i], dst + i);
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
  static VEC_INLINE void begin(Sum *sums, const T *, size_t columns)
  {
    for (size_t i = 0; i < columns; i++)
      sums[i] = 0;
  }
  template <size_t rows> static VEC_INLINE void add(Sum *sums, const T *from, size_t columns, size_t stride)
  {
    for (size_t i = 0; i < columns; i++)
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
  static VEC_INLINE void begin(T *best, const T *from, size_t columns)
  {
    for (size_t i = 0; i < columns; i++)
      best[i] = vec::load_one(from + i);
  }
  template <size_t rows> static VEC_INLINE void add(T *best, const T *from, size_t columns, size_t stride)
  {
    for (size_t i = 0; i < columns; i++) {
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
  reduce_columns<Sums<T>, 8>(dst, src, rows, columns, stride);
}

template <typename T>
void extremum_columns(T *dst, const T *src, size_t rows, size_t columns, size_t stride, bool largest)
{
  if (largest)
    reduce_columns<Extrema<T, true>, 4>(dst, src, rows, columns, stride);
  else
    reduce_columns<Extrema<T, false>, 4>(dst, src, rows, columns, stride);
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
