"""Importing the modules of the build steps from the one file that holds them in a build folder, the bundle.

It holds the bytecode of one version of Python, and the sources, which any other compiles and tracebacks show. It loads
faster than a folder of modules, where Python looks for several files for each, or than a zip file, whose contents
Python lists entry by entry. Its parts:

    magic number of the bytecode, checksum of all that follows, digest of the sources, sizes of the next three,
    bytecode of this module, its source, the list of all, their bytecode, compressed sources, the list of these
"""

from __future__ import annotations

import gc
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER
from marshal import loads
from types import CodeType, ModuleType, TracebackType

Place = tuple[int, int]

BUNDLE = "isagen.bundle"
# Where the checksum, the digest, the sizes, and what has these sizes start.
CHECK, DIGEST, SIZES, PARTS = 4, 8, 40, 52
# What Python runs: it is compiled each time, and short therefore.
MAIN = """from _frozen_importlib_external import MAGIC_NUMBER
from marshal import loads

path = __file__.removesuffix("__main__.py") + "isagen.bundle"
with open(path, "rb", 0) as stream:
    head = stream.read(52)
    code, source = (stream.read(int.from_bytes(head[at : at + 4], "little")) for at in (40, 44))
start = {"__name__": "isagen.build.start"}
exec(loads(code) if head.startswith(MAGIC_NUMBER) else source, start)
start["run"](path)
"""


class Bundle:
    """Finds and loads the modules of a bundle, as `sys.meta_path` wants it."""

    def __init__(self, path: str) -> None:
        self.bundle = path
        # Kept open, so that a new bundle in its place does not mix with this one; Windows would refuse to put it there.
        self._file = os.open(path, os.O_RDONLY) if hasattr(os, "pread") else None
        head = self._read(0, PARTS)
        code, source, size = (int.from_bytes(head[at : at + 4], "little") for at in range(SIZES, PARTS, 4))
        self._start = PARTS + code + source + size
        self._compiled = head[:CHECK] == MAGIC_NUMBER
        self._modules: dict[str, tuple[str, int, int]]
        self._modules, self._sources = loads(self._read(self._start - size, size))

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return what imports a module of the bundle; None for others."""
        place = self._modules.get(name)
        if place is None:
            return None
        return ModuleSpec(name, self, is_package=place[0].endswith("/__init__.py"))  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make a module."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the code of a module."""
        name = module.__name__
        module.__file__ = f"{self.bundle}/{self._modules[name][0]}"
        exec(self.get_code(name), module.__dict__)

    def get_code(self, name: str) -> CodeType:
        """Return the code of a module."""
        file, start, size = self._modules[name]
        if not self._compiled:
            return compile(self._content(file), shown(file), "exec", dont_inherit=True)
        code: CodeType = loads(self._read(self._start + start, size))
        return code

    def get_source(self, name: str) -> str:
        """Return the source of a module, of which tracebacks show lines."""
        return self._content(self._modules[name][0]).decode()

    def get_data(self, path: str) -> bytes:
        """Return the content of a file whose path starts with the bundle's. Raises OSError where there is none."""
        try:
            return self._content(path[len(self.bundle) + 1 :].replace(os.sep, "/"))
        except KeyError:
            raise FileNotFoundError(2, os.strerror(2), path) from None

    def files(self) -> dict[str, Place]:
        """Return the files of the bundle by name, data too, with where they start and their sizes."""
        start, size = self._sources
        found: dict[str, Place] = loads(self._read(self._start + start, size))
        return found

    def _content(self, file: str) -> bytes:
        from zlib import decompress  # few steps read a source

        start, size = self.files()[file]
        return decompress(self._read(self._start + start, size))

    def _read(self, start: int, size: int) -> bytes:
        if self._file is not None:
            return os.pread(self._file, size, start)
        with open(self.bundle, "rb") as stream:
            stream.seek(start)
            return stream.read(size)


def shown(file: str) -> str:
    """Return how tracebacks name a file of the bundle."""
    return f"isa_tool/{BUNDLE}/{file}"


def _show(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """Print an error; before version 3.13, Python itself shows no lines of a module that is in no folder."""
    from traceback import print_exception

    print_exception(kind, problem, trace)


def run(path: str) -> None:
    """Run the build step that the command line says, with the modules of the bundle at `path`."""
    gc.disable()  # a step leaves few cycles, and looking for them takes a tenth of its time
    sys.meta_path.insert(0, Bundle(path))
    sys.path.append(os.path.dirname(path))  # where the compiled part of the decoder is
    sys.excepthook = _show
    from isagen.build.main import main

    status = main()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        sys.exit(status)  # which says what is wrong
    os._exit(status)  # to take all modules down takes a tenth of the time of a step, too
