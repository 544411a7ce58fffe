"""Reads and seals binary files. Each format is a package behind the protocols of `protocol`; `formats` lists them."""
