! A module that kernels of this folder share: each level has its own, variables included.
module counting
  use iso_c_binding
  implicit none
  integer, parameter :: wp = c_float
  integer(c_int) :: calls = 0

  type, abstract :: operation
  contains
    procedure(apply), deferred :: apply
  end type
  type, extends(operation) :: scaling
    real(wp) :: factor = 1
  contains
    procedure :: apply => scaled
  end type

  abstract interface
    elemental real(wp) function apply(self, x)
      import operation, wp
      class(operation), intent(in) :: self
      real(wp), intent(in) :: x
    end function
  end interface

contains

  subroutine count_call()
    calls = calls + 1
  end subroutine

  elemental real(wp) function scaled(self, x)
    class(scaling), intent(in) :: self
    real(wp), intent(in) :: x
    scaled = self%factor * x
  end function

  integer(c_int) function level_calls() bind(c)
    level_calls = calls
  end function

end module
