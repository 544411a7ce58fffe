! Free form, not preprocessed: // concatenates, and strings hold what starts comments elsewhere.
subroutine axpy(n, a, x, y) bind(c)
  use counting
  implicit none
  integer(c_size_t), value :: n
  real(wp), value :: a
  real(wp), intent(in) :: x(n)
  real(wp), intent(inout) :: y(n)
  class(operation), allocatable :: op
  call count_call()
  op = scaling(a)
  y = y + op%apply(x)
end subroutine

subroutine text(buffer, size) bind(c)
  use iso_c_binding
  implicit none
  integer(c_size_t), value :: size
  character(kind=c_char), intent(out) :: buffer(size)
  character(len=:), allocatable :: all
  integer :: i
  all = 'a/*b' // 'c*/' // "//d" // '\n' // "#e"
  buffer = c_null_char
  do i = 1, len(all)
    buffer(i) = all(i:i)
  end do
end subroutine
