"""clang-cl and Microsoft's ABI on Linux, with wine's headers and DLLs, and a small run-time library for tests.

Debian has no program of this name: it is `clang`, called as `clang-cl`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.checkout import ROOT
from support.platforms import surroundings
from support.projects import Project, need

HEADERS = tuple(Path("/usr/include/wine/wine", name) for name in ("msvcrt", "windows"))
LIBRARIES = tuple(
    Path(f"/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/lib{name}.a")
    for name in ("ucrtbase", "vcruntime140", "kernel32")
)
CRT = ROOT / "tests/support/msvc/crt.cpp"
# Exceptions, type information, and the C library in DLLs.
OPTIONS = ("/EHsc", "/GR", "/MD", *(f"/imsvc{folder}" for folder in HEADERS))
VERSIONS = ("14", "16")


def require(version: str) -> None:
    """Skip the test where something is not installed."""
    need(f"clang-{version}", f"lld-link-{version}", f"llvm-lib-{version}", "wine")
    for path in (*HEADERS, *LIBRARIES):
        if not path.exists():
            pytest.skip(f"{path} is not installed: it is in Debian's libwine-dev")


def tools(folder: Path, version: str) -> Path:
    """Give the tools of a version of LLVM the names by which Meson knows them; return their folder."""
    place = folder / "bin"
    place.mkdir(exist_ok=True)
    for name, program in (("clang-cl", "clang"), ("lld-link", "lld-link"), ("llvm-lib", "llvm-lib")):
        (place / name).symlink_to(str(shutil.which(f"{program}-{version}")))
    return place


def compiled(folder: Path, source: Path, *options: str, name: str = "") -> Path:
    """Compile a source with the tools in a folder, to an object called `name`."""
    made = folder / f"{name or source.stem}.obj"
    words = [folder / "bin/clang-cl", "/c", "/O2", *OPTIONS, *options, f"/Fo{made}", "--", source]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def link_arguments(folder: Path, library: bool = False) -> list[str]:
    """The arguments of each link of a program or of a `library`, without objects."""
    crt = folder / ("library.obj" if library else "crt.obj")
    if not crt.exists():
        defined = ["/DLIBRARY"] if library else []
        compiled(folder, CRT, "/GS-", "/GR-", "/Zl", "/std:c++17", *defined, name=crt.stem)
    start = ["/dll", "/entry:_DllMainCRTStartup"] if library else ["/entry:mainCRTStartup", "/subsystem:console"]
    return [*start, "/nodefaultlib", str(crt), *map(str, LIBRARIES)]


def prepare(project: Project, folder: Path, version: str) -> Path:
    """Give a project the tools and wine; return Meson's description of the platform, which is written into `folder`."""
    place = tools(folder, version)
    project.environment |= surroundings()
    project.environment["PATH"] = os.pathsep.join([str(place), project.environment["PATH"]])
    lines = ["[binaries]", *(f"{name} = '{place}/clang-cl'" for name in ("c", "cpp")), f"ar = '{place}/llvm-lib'"]
    lines += ["[host_machine]", "system = 'windows'", "cpu_family = 'x86_64'", "cpu = 'x86_64'", "endian = 'little'"]
    lines += ["[built-in options]", "b_vscrt = 'md'"]
    for language in ("c", "cpp"):
        options = [option for option in OPTIONS if option != "/MD"]  # Meson's own
        lines += [f"{language}_args = {options}", f"{language}_link_args = {link_arguments(folder)}"]
        lines += [f"{language}_winlibs = []"]
    path = folder / "cross.ini"
    path.write_text("\n".join(lines) + "\n")
    return path
