"""Processors: one folder for each, with its features, tables, detection and decoder."""
