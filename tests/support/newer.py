"""Compilers that Debian 12 lacks. Tests take those that are installed; no test is skipped for want of the others."""

import shutil

GCC = tuple(filter(shutil.which, (f"gcc-{version}" for version in range(13, 18))))
CLANG = tuple(filter(shutil.which, (f"clang-{version}" for version in (20, 21, 23, 24))))


def cxx(name: str) -> str:
    """Return the C++ compiler beside a C compiler."""
    return name.replace("gcc", "g++").replace("clang", "clang++")
