"""Reads binary files and seals objects. Each format's folder contains its `FORMAT`; `formats.py` lists these."""
