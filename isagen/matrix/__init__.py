"""The build matrix: kernels x levels, each with verdict and reason, for programs, for Meson and for a terminal."""
