"""Tuning: which levels of a kernel are worth their bytes, measured with a benchmark of the project."""
