"""Intrinsics of levels, each with a scalar expression that gives the same: rows, and the programs that compare both."""
