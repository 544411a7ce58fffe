"""tests/packages/tiles, built once per compiler and test run, and called through ctypes."""

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

from support.checkout import ROOT
from support.once import locked
from support.projects import Project, base_environment, make_project, need, verdicts

COMPILERS = ["g++", "clang++-16"]
# The levels that differ in what the test kernels are made of.
FEW = ["DEFAULT", "AVX2", "AVX512", "AMX", "AVX512_FP16"]

DOTS = {"u8u8": 0, "u8s8": 1, "s8u8": 2, "s8s8": 3, "bf16": 4, "copy": 5}


class Shape(ctypes.Structure):
    """``matmul_shape``."""

    _fields_ = [(name, ctypes.c_size_t) for name in ("m", "n", "k", "lda", "ldb", "ldc")]


class DotCall(ctypes.Structure):
    """``dot_call``."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("kind", "zero", "once")),
        *((name, ctypes.c_int * 3) for name in ("rows", "column_bytes")),
        *((name, ctypes.c_void_p) for name in ("c", "a", "b")),
        ("stride", ctypes.c_ssize_t * 3),
    ]


class FaultError(Exception):
    """What the model throws where a CPU would refuse."""


class Library:
    """The library, and what its kernels do with NumPy arrays, at a level that `use` sets."""

    def __init__(self, path: Path, project: Project | None = None):
        self.path, self.project = path, project
        self.loaded = ctypes.CDLL(str(path))
        self.loaded.last_message.restype = ctypes.c_char_p
        self.loaded.emulated_instructions.restype = ctypes.c_ulong

    def use(self, level: str) -> "Library":
        """Run at a level of this CPU; ``AMX emulated`` and ``AVX512_FP16 emulated``: that level's copies, emulated."""
        name, _, emulated = level.partition(" ")
        assert self.loaded.use(name.encode(), bool(emulated)) == 0, level
        return self

    def call(self, name: str, *arguments) -> None:
        """Call one of the library's functions."""
        if getattr(self.loaded, name)(*arguments):
            raise FaultError(self.loaded.last_message().decode())

    def api(self, cond: bool, row: int, col: int, buf: np.ndarray, buf2: np.ndarray) -> None:
        """The example function: `buf` becomes c + a b."""
        self.call("api", cond, ctypes.c_short(row), ctypes.c_short(col), address(buf), address(buf2))

    def dot(self, kind, c, a, b, *, zero=False, once=False):
        """Run one dot product; c, a and b are uint8, in rows that may lie further apart in memory."""
        call = DotCall(DOTS[kind], zero, once)
        call.rows[:] = [x.shape[0] for x in (c, a, b)]
        call.column_bytes[:] = [x.shape[1] for x in (c, a, b)]
        call.c, call.a, call.b = (x.ctypes.data for x in (c, a, b))
        call.stride[:] = [x.strides[0] for x in (c, a, b)]
        self.call("dot", ctypes.byref(call))

    def multiply(self, name, a, b, dtype):
        """Run a product of matrices, whose rows may lie further apart in memory, into a new one with a margin."""
        (m, k), n = a.shape, b.shape[1]
        out = np.full((m + 1, n + 3), 77, dtype)
        shape = Shape(m, n, k, a.strides[0] // a.itemsize, b.strides[0] // b.itemsize, n + 3)
        self.call(name, address(out), address(a), address(b), ctypes.byref(shape))
        assert (out[m:] == 77).all()
        assert (out[:, n:] == 77).all()
        return out[:m, :n]


def address(array: np.ndarray) -> ctypes.c_void_p:
    """The array's address."""
    return ctypes.c_void_p(array.ctypes.data)


def build(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Build the project with a compiler, once for all processes of the test run."""
    need(compiler)
    with locked(tmp_path_factory, f"tiles-{compiler}") as folder:
        project = Project(folder, base_environment())
        if not folder.exists():
            project = make_project(folder.parent, "tiles", folder.name)
            shutil.copytree(
                ROOT / "kernels", folder / "kernels", ignore=shutil.ignore_patterns("isagen", "meson.build")
            )
            # GCC takes twice as long for products.cpp with -O2; test_tile_code.py has -O3 of the same templates.
            project.setup("-Doptimization=1", f"-Disa_levels={','.join(FEW)}", CXX=compiler)
        missing = [level for level in FEW if verdicts(project)[level] != "built"]
        if missing:
            pytest.skip(f"{compiler} cannot build {' '.join(missing)}")
        project.ninja()
    return Library(project.path("libtiles.so"), project)
