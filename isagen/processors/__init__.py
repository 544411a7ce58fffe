"""Processors. Each has a folder with its features and tables, and, if it has any, its own detection and decoder."""
