"""Tuning: which levels of a kernel pay for their bytes, from a benchmark of the project."""
