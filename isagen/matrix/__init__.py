"""Finds build matrices in builds, binaries and modules, explains them, and writes them for people and programs."""
