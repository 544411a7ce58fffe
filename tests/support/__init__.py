"""Helpers that the tests share. conftest.py holds the fixtures."""
