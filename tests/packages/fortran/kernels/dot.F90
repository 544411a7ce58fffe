! Free form, preprocessed: the macros of the level are known.
real(c_double) function dot(n, x, y) bind(c)
  use counting
  implicit none
  integer(c_size_t), value :: n
  real(wp), intent(in) :: x(n), y(n)
  call count_call()
  dot = sum(real(x, c_double) * real(y, c_double))
end function

integer(c_int) function bits() bind(c)
  use iso_c_binding
  implicit none
#if defined(CPU_CAPABILITY_AVX512)
  bits = 512
#elif defined(CPU_CAPABILITY_AVX2)
  bits = 256
#else
  bits = 128
#endif
end function
