"""Kernels compiled once per CPU instruction-set level, on stock Meson."""

__version__ = "0.3.0"
