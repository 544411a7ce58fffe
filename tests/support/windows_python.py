"""CPython for Windows, run by wine: its DLL and modules are in the wheel of panda3d, the rest is that of this Python.

`WindowsPython` makes python.exe of them, and compilers of Windows that call Debian's MinGW.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import lief
import pytest

from support.checkout import ROOT
from support.macho_loader import headers_of_python
from support.platforms import in_folder_of_wine
from support.projects import CACHE, need

SOURCES = ROOT / "tests/support/windows"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
DLL = f"python{VERSION.replace('.', '')}.dll"
WHEELS = ("panda3d==1.10.16", "iced-x86", "ninja")
MINGW = "x86_64-w64-mingw32-"
# Programs without DLLs of GCC, which wine does not find.
COMPILE = (f"{MINGW}gcc", "-O1", "-static")


def on_drive(path: Path) -> str:
    """Return the path by which a program of Windows knows a file."""
    return "Z:" + str(path.resolve()).replace("/", "\\")


@dataclass(frozen=True)
class WindowsPython:
    """Python for Windows in `folder`, which also has wine's own folder."""

    folder: Path

    def run(self, *words: str | Path, where: Path, check: bool = True, **environment: str) -> str:
        """Run a program of Windows in a folder; return what it said on both streams."""
        done = subprocess.run(
            ["wine", *map(str, words)],
            cwd=where,
            env={**os.environ, **in_folder_of_wine(self.folder), **self._variables(), **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        said = done.stdout.decode(errors="replace").replace("\r\n", "\n")
        assert not check or done.returncode == 0, said
        return said

    def python(self, *words: str | Path, where: Path, check: bool = True, **environment: str) -> str:
        """Run Python for Windows."""
        return self.run(self.folder / "python.exe", *words, where=where, check=check, **environment)

    def _variables(self) -> dict[str, str]:
        packages = [self.folder / "packages", ROOT, Path(sysconfig.get_paths()["purelib"])]
        return {
            "PYTHONPATH": ";".join(map(on_drive, packages)),
            "WINEPATH": ";".join(map(on_drive, (self.folder / "bin", self.folder))),
            "UNIX_TEMP": on_drive(self.folder / "temp"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    @property
    def dll(self) -> Path:
        """The DLL that extension modules link."""
        return self.folder / DLL

    def compilers(self) -> None:
        """Make gcc.exe, g++.exe and ar.exe of Debian's MinGW."""
        for name in ("gcc", "g++", "ar"):
            program = f'-DPROGRAM="{MINGW}{name}"'
            _run(*COMPILE, program, SOURCES / "unix.c", "-o", self.folder / f"bin/{name}.exe")


def windows_python(folder: Path) -> WindowsPython:
    """Make Python for Windows in a folder; skip the test where something for it is not to be had."""
    need("wine", f"{MINGW}gcc")
    _unpack(folder)
    libraries = folder / "packages/deploy_libs"
    if not (libraries / DLL).exists():
        pytest.skip(f"the wheel of panda3d has no {DLL}")
    for name in (DLL, "VCRUNTIME140.dll"):
        shutil.copy(libraries / name, folder)
    (folder / "DLLs").mkdir()
    for path in [*libraries.glob("*.pyd"), *libraries.glob("lib*.dll")]:
        shutil.copy(path, folder / "DLLs")
    (folder / "Lib").symlink_to(sysconfig.get_paths()["stdlib"])
    _stable_library(folder)
    _run(*COMPILE, "-municode", SOURCES / "python.c", folder / DLL, "-o", folder / "python.exe")
    (folder / "bin").mkdir()
    (ninja,) = folder.glob("packages/ninja-*.data/scripts/ninja.exe")
    shutil.copy(ninja, folder / "bin")
    (folder / "temp").mkdir()
    made = WindowsPython(folder)
    _start(made)
    return made


def headers(folder: Path) -> Path:
    """Copy the headers of this Python into a folder, as MinGW can include them."""
    made = headers_of_python(folder)
    shutil.copy(SOURCES / "pyconfig.h", made)
    return made


def _unpack(folder: Path) -> None:
    """Download the wheels for Windows, once for all processes of a run, and unpack them."""
    wheels = Path(os.environ[CACHE], "windows-wheels")
    command = (
        f"-m pip download -q --no-deps --only-binary=:all: --python-version {VERSION} --platform win_amd64".split()
    )
    command = [sys.executable, *command, "-d", str(wheels), *WHEELS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"pip cannot fetch {' '.join(WHEELS)} for Windows: {done.stderr.strip().splitlines()[-1]}")
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as file:
            names = [name for name in file.namelist() if re.match(r"deploy_libs/|iced_x86|ninja", name)]
            file.extractall(folder / "packages", names)


def _stable_library(folder: Path) -> None:
    """Make python3.dll, which modules of the stable ABI load: it forwards each name."""
    library = lief.PE.parse(str(folder / DLL))  # its entries end with it
    names = [entry.name for entry in library.get_export().entries if entry.name]
    text = "".join(f"{name} = {DLL.removesuffix('.dll')}.{name}\n" for name in names)
    (folder / "python3.def").write_text(f"LIBRARY python3.dll\nEXPORTS\n{text}")
    _run(f"{MINGW}gcc", "-shared", "-nostdlib", folder / "python3.def", "-Wl,-e,0", "-o", folder / "python3.dll")


def _start(made: WindowsPython) -> None:
    """Start wine, whose services would keep a pipe open, and have programs write temporary files where GCC reads."""
    environment = {**os.environ, **in_folder_of_wine(made.folder)}
    quiet = {
        "env": environment,
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    subprocess.run(["wineserver", "-p120"], check=False, **quiet)
    for name in ("TEMP", "TMP"):
        words = ["reg", "add", r"HKCU\Environment", "/v", name, "/d", on_drive(made.folder / "temp"), "/f"]
        subprocess.run(["wine", *words], check=True, **quiet)


def _run(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
