"""Mach-O files of zig, run on Linux: the loader of tests/support/macho, compiled for x86-64, or for arm64 and qemu.

`words(family)` stand before an executable and its arguments, or before a dylib and calls of its functions, such as
`int:plus(2, 3)`; the head of macho/loader.c says what it prints, and which variables it reads.
"""

import functools
import os
import platform
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.checkout import ROOT
from support.platforms import ZIG
from support.projects import CACHE, need

SOURCES = ROOT / "tests/support/macho"
# By family as Meson calls it: the compiler of the loader, and the words before the loader.
FAMILIES = {
    "x86_64": ("gcc", ()),
    "aarch64": ("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu")),
}
# The sources of LLVM's unwinder, which zig brings: macOS has it in libSystem.
UNWINDER = (
    "libunwind.cpp",
    "UnwindLevel1.c",
    "UnwindLevel1-gcc-ext.c",
    "UnwindRegistersSave.S",
    "UnwindRegistersRestore.S",
)


def compiler(family: str, language: str = "cpp") -> list[str]:
    """Return the words of zig's compiler for macOS on a family of processors."""
    return [*ZIG, "c++" if language == "cpp" else "cc", "-target", f"{family}-macos", "-O2"]


def headers_of_python(folder: Path) -> Path:
    """Copy the headers of the host's Python into a folder, as another system than Linux can include them."""
    headers = Path(shutil.copytree(sysconfig.get_paths()["include"], folder / "include"))
    config = Path(sysconfig.get_config_h_filename())
    of_debian = config.parent.parent / str(sysconfig.get_config_var("MULTIARCH")) / config.parent.name / config.name
    if of_debian.exists():  # the one that Python.h includes is for Linux alone
        shutil.copy(of_debian, headers)
    return headers


def words(family: str, *of_emulator: str) -> list[str]:
    """Return the words that run a Mach-O file of a family; skip the test where something for them is missing."""
    gcc, emulator = FAMILIES[family]
    need(gcc, *emulator[:1])
    if not emulator and platform.machine() != family:
        pytest.skip(f"programs for {family} do not run on {platform.machine()}")
    pytest.importorskip("ziglang")
    return [*emulator, *(of_emulator if emulator else ()), str(_loader(family))]


def libpython() -> str:
    """Return the path of libpython for x86-64, which `--python` takes; skip the test where there is none."""
    path = Path(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LDLIBRARY"))
    if platform.machine() != "x86_64" or ".so" not in path.name or not path.exists():
        pytest.skip("this Python has no shared libpython for x86-64")
    return str(path)


@functools.cache
def _loader(family: str) -> Path:
    """Compile the loader and the unwinder that it binds, into the cache of the tests, once for all processes."""
    import ziglang

    made = Path(os.environ[CACHE], f"macho-{family}")
    unwinder, loader = made / "libunwind.dylib", made / "loader"
    if loader.exists():
        return loader
    made.mkdir(exist_ok=True)
    own = made / str(os.getpid())
    runtime = Path(ziglang.__file__).parent / "lib/libunwind"
    options = ["-shared", "-nostdlib++", "-fno-exceptions", "-fno-rtti", "-DNDEBUG", f"-I{runtime / 'include'}"]
    _run([*compiler(family), *options, *(runtime / "src" / name for name in UNWINDER), "-o", own])
    own.replace(unwinder)
    options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f'-DUNWINDER="{unwinder}"']
    _run([FAMILIES[family][0], *options, *sorted(SOURCES.glob("*.c")), "-o", own, "-lm", "-ldl", "-lpthread"])
    own.replace(loader)
    return loader


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr}"
