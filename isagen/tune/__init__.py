"""Finds which levels of a kernel are worth their bytes, by a benchmark of the project."""
