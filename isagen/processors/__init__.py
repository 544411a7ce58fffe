"""Processors. Each has a folder with its features, tables, detection and decoder."""
