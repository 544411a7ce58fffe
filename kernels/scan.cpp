// Prefix sums by log-step scan: 2 rounds of shift and add on 4 lanes, 3 on 8, 4 on 16, and a carry in all lanes.
//
// The carry depends on one addition per vector: the last lane of the vector's own prefix sums, which it adds, does not
// depend on earlier vectors.
#include "loop.h"
#include "stubs/rows.h"

namespace {

// x + (-0.0) is x for every float, -0.0 too; x + 0.0 is not.
template <typename T> constexpr T nothing = vec::Float<T>::value ? T(-0.0) : T(0);

template <int by, typename T> VEC_INLINE Vectorized<T> prefix_sums(Vectorized<T> x)
{
  if constexpr (by < Vectorized<T>::size())
    return prefix_sums<2 * by>(x + vec::shift_in<by>(x, Vectorized<T>(nothing<T>)));
  else
    return x;
}

template <typename T>
void cumsum(T *dst, const T *src, size_t rows, size_t columns, T before, bool past_caches)
{
  for (size_t row = 0; row < rows; row++, dst += columns, src += columns) {
    Vectorized<T> carry(before);
    writing<T>(dst, columns, past_caches, [&](size_t i, auto how) {
      const Vectorized<T> sums = prefix_sums<1>(how.load(src + i, nothing<T>));
      how.store(sums + carry, dst + i);
      carry = carry + vec::last(sums);
    });
  }
  if (past_caches)
    vec::fence_streams();
}

} // namespace

ISA_REGISTER_DISPATCH(cumsum_float_stub, &cumsum<float>)
ISA_REGISTER_DISPATCH(cumsum_double_stub, &cumsum<double>)
ISA_REGISTER_DISPATCH(cumsum_int32_stub, &cumsum<int32_t>)
