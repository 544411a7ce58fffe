"""Reads and seals binary files. Each format is a package with a description, `FORMAT`; `formats` lists them."""
