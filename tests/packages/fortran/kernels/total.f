C     Fixed form. The COMMON block is one for the whole program, whichever
C     level runs.
      subroutine total(n, x, s) bind(c)
      use iso_c_binding
      integer(c_int), value :: n
      real(c_float) x(n), s
      integer(c_int) sums
      common /counts/ sums
      sums = sums + 1
      s = sum(x)
     &    + 0.0
      end
