"""Finds build matrices in builds, binaries and modules, compares and explains them, and writes them for people."""
