"""Platforms that tests cross-compile for: how Meson is told of each, what must be installed, how its programs run."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL

import pytest

from isagen.binary.formats import format_names, known_systems
from support.projects import CACHE, Project, make_project, need

STATIC = ["-Dc_link_args=-static", "-Dcpp_link_args=-static"]  # GCC's libraries are not where wine looks
ZIG = [sys.executable, "-m", "ziglang"]
# zig for a target and a language, which follow, whose C library Debian has.
ZIG_WITH_LIBRARY = [sys.executable, str(Path(__file__).parent / "zig_compiler.py")]
# Runs a WebAssembly program of WASI; the wheel wasmtime has no command.
WASM = """
import sys
from wasmtime import Engine, Linker, Module, Store, WasiConfig
store, wasi = Store(Engine()), WasiConfig()
wasi.inherit_stdout()
store.set_wasi(wasi)
linker = Linker(store.engine)
linker.define_wasi()
linker.instantiate(store, Module.from_file(store.engine, sys.argv[1])).exports(store)["_start"](store)
"""


def in_folder_of_wine(folder: Path) -> dict[str, str]:
    """The environment of wine with its files in a folder, which its server needs."""
    (folder / "wine").mkdir(exist_ok=True)
    return {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all"}


def surroundings() -> dict[str, str]:
    """The environment of wine, started: with one folder for all processes of a run, as wine takes seconds to make one.

    Without a server that waits, each program would start Windows anew.
    """
    environment = in_folder_of_wine(Path(os.environ[CACHE]))
    if shutil.which("wineserver"):
        subprocess.run(["wineserver", "-p60"], env={**os.environ, **environment}, stderr=DEVNULL, check=False)
    return environment


@dataclass(frozen=True)
class Platform:
    """A platform: its compilers by language, its system and processor as Meson calls them, and the reason why only the
    baseline is built there, "" if all levels are.

    `runner` are the words before a program that is run, None where none can be; `modules` are Python's.
    """

    compilers: Mapping[str, Sequence[str]]
    ar: Sequence[str]
    system: str
    cpu_family: str
    reason: str
    runner: Sequence[str] | None = None
    program: str = "portable"
    modules: Sequence[str] = ()

    @property
    def how(self) -> str:
        """How its programs run."""
        runner = [*(self.runner or ()), "natively"][0]
        return "with wasmtime" if runner == sys.executable else runner

    def require(self) -> None:
        """Skip the test where something of it is not installed."""
        need(*(words[0] for words in self.compilers.values()), *(self.runner or ())[:1])
        if "-m32" in self.compilers["cpp"] and not list(Path("/usr/lib/gcc").glob("*/*/32/libstdc++.a")):
            pytest.skip("the libraries of 32-bit programs are not installed")
        for module in self.modules:
            pytest.importorskip(module)

    def cross_file(self, folder: Path) -> Path:
        """Write Meson's description of it into a folder."""
        binaries = {**self.compilers, "ar": self.ar}
        lines = ["[binaries]", *(f"{name} = {list(words)}" for name, words in binaries.items()), "[host_machine]"]
        cpu = {"system": self.system, "cpu_family": self.cpu_family, "cpu": self.cpu_family, "endian": "little"}
        path = folder / "cross.ini"
        path.write_text("\n".join([*lines, *(f"{key} = '{value}'" for key, value in cpu.items())]) + "\n")
        return path


def for_windows(folder: Path, compiler: str, package: str, *options: str) -> Project:
    """A package, configured for Windows; the summary is its `last`."""
    platform = WINDOWS[compiler]
    platform.require()
    project = make_project(folder, package)
    project.environment |= surroundings()
    static = STATIC if compiler == "mingw" else []
    project.last = project.setup("--cross-file", str(platform.cross_file(folder)), *static, *options)
    return project


def _gnu(prefix: str, system: str, cpu_family: str, reason: str, **more) -> Platform:
    compilers = {"c": [prefix + "gcc"], "cpp": [prefix + "g++"]}
    return Platform(compilers, [prefix + "ar"], system, cpu_family, reason, **more)


def _zig(target: str, system: str, cpu_family: str, options: Sequence[str] = (), **more) -> Platform:
    # Without -nostdlib++, zig compiles libc++ first, which takes a minute.
    words = [*ZIG_WITH_LIBRARY, target]
    compilers = {"c": [*words, "cc", *options], "cpp": [*words, "c++", *options, "-nostdlib++"]}
    read = system in known_systems()
    reason = "" if read else f"objects for {system} are not {format_names()}, which isagen reads"
    modules = ("ziglang", *more.pop("modules", ()))
    return Platform(compilers, [*ZIG, "ar"], system, cpu_family, reason, modules=modules, **more)


# Windows, by compiler.
WINDOWS = {
    "mingw": _gnu("x86_64-w64-mingw32-", "windows", "x86_64", "", runner=["wine"], program="portable.exe"),
    "zig": _zig("x86_64-windows-gnu", "windows", "x86_64", runner=["wine"], program="portable.exe"),
}
MACOS_COMPILER = [sys.executable, str(Path(__file__).parent / "macos_compiler.py")]
# macOS, by processor; `macho_loader` runs its programs. On x86-64, zig compiles its libc++ first.
MACOS = {
    "x86_64": Platform(
        {"c": [*ZIG, "cc", "-target", "x86_64-macos"], "cpp": [*ZIG, "c++", "-target", "x86_64-macos"]},
        *([*ZIG, "ar"], "darwin", "x86_64", ""),
        modules=["ziglang"],
    ),
    "aarch64": Platform(
        {"c": [*MACOS_COMPILER, "c"], "cpp": [*MACOS_COMPILER, "cpp"]},
        *([*ZIG, "ar"], "darwin", "aarch64", ""),
        modules=["ziglang"],
    ),
}
# Systems for which zig alone compiles here, without its C++ library.
OTHERS = {
    "musl": _zig("x86_64-linux-musl", "linux", "x86_64", options=["-mcpu=x86_64"]),
    "musl on arm64": _zig("aarch64-linux-musl", "linux", "aarch64"),
    "FreeBSD": _zig("x86_64-freebsd", "freebsd", "x86_64", options=["-mcpu=x86_64"]),
    "macOS": _zig("x86_64-macos", "darwin", "x86_64"),
    "Windows on arm64": _zig("aarch64-windows-gnu", "windows", "aarch64"),
}
# Platforms where isagen builds the baseline alone.
PLATFORMS = {
    "wasm32": _zig("wasm32-wasi", "wasi", "wasm32", runner=[sys.executable, "-c", WASM], modules=["wasmtime"]),
    "arm": _gnu(
        "arm-linux-gnueabihf-",
        *("linux", "arm", "isagen has no levels for arm"),
        runner=["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"],
    ),
    "i386": Platform(
        {"c": ["gcc", "-m32"], "cpp": ["g++", "-m32"]},
        *(["ar"], "linux", "x86", "isagen has no levels for 32-bit x86"),
        runner=[],
    ),
    "made-up": _gnu("", "templeos", "x86_64", "isagen does not know the system templeos", runner=[]),
}


def imposter(folder: Path, name: str, program: str, version: str, refused: str) -> Path:
    """Write a compiler that says it is of a `version`, calls `program`, and refuses options (a shell pattern)."""
    path = folder / name
    path.write_text(
        "#!/bin/sh\n"
        f'if [ "$*" = --version ]; then printf "%s\\n" "{version}"; exit; fi\n'
        "for word; do\n"
        "  shift\n"
        "  case $word in\n"
        "    -Minform=*) continue ;;\n"
        f'    {refused}) echo "{name}: error: unknown switch: $word" >&2; exit 1 ;;\n'
        "  esac\n"
        '  set -- "$@" "$word"\n'
        "done\n"
        f'exec {program} "$@"\n'
    )
    path.chmod(0o755)
    return path
