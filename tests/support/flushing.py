"""MXCSR's flags by which denormals count as zero, set for the tests' own thread, as -ffast-math libraries set them."""

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from support.projects import need

# Intel SDM vol. 1, "MXCSR Control and Status Register": denormals are zeros, and results are flushed to zero.
DAZ, FTZ = 0x0040, 0x8000
FLAGS = [DAZ, FTZ, DAZ | FTZ]

SOURCE = """
#include <xmmintrin.h>
unsigned get(void) { return _mm_getcsr(); }
void set(unsigned mxcsr) { _mm_setcsr(mxcsr); }
"""


@functools.cache
def mxcsr() -> ctypes.CDLL:
    """A library that gets and sets MXCSR."""
    need("gcc")
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "mxcsr.c", Path(folder) / "mxcsr.so"
        source.write_text(SOURCE)
        command = ["gcc", "-shared", "-fPIC", source, "-o", library]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if "xmmintrin.h: No such file" in done.stderr:
            pytest.skip("this CPU has no MXCSR")
        assert done.returncode == 0, done.stderr
        return ctypes.CDLL(str(library))


@contextmanager
def flushing(flags: int) -> Iterator[None]:
    """Set flags of MXCSR in this thread, and check their effect."""
    library = mxcsr()
    denormal, normal = np.array([1e-40, 2.0**-126], np.float32)
    before = library.get()
    library.set(before | flags)
    try:
        from_denormal, to_denormal = denormal * np.float32(2.0**20), normal * np.float32(0.5)
        yield
    finally:
        library.set(before)
    assert (from_denormal == 0) == bool(flags & DAZ)
    assert (to_denormal == 0) == bool(flags & FTZ)
