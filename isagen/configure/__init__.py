"""Configuring: the Meson fragment runs it to probe compilers, to plan, and to write the files that the build needs."""
