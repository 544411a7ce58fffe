"""Probing: what a compiler can build, and what it turns on."""
