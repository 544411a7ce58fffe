"""One real build with Meson per compiler: its plan, flags, headers and linkers serve all random projects."""

import functools
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from isagen.model.names import plan_name
from isagen.model.plan import Build, Cell, KernelRow, Plan, Unit
from isagen.model.plan_file import read_plan
from support.cross import Target
from support.projects import make_project

from .generator import KERNELS
from .systems import System

MESON = """\
project('random', 'c', 'cpp', meson_version: '>=1.0.1', default_options: ['cpp_std=c++17', 'c_std=c11'])
isa_kernels = files({kernels})
subdir('isagen')
executable('random', 'ordinary.cpp', dependencies: isa_kernels_dep)
"""
# By the compiler of C++, that of C.
C_COMPILER = {"g++": "gcc", "clang++": "clang"}
# By family: atomic instructions of libgcc's functions, behind a check, are left out.
OPTIONS = {"aarch64": ["-mno-outline-atomics"]}
OVERRIDE = "RANDOM_ISA"
# Options of a link that compilers' drivers take for themselves.
DRIVERS_OWN = re.compile(r"-fuse-ld=|-plugin|--plugin")


@dataclass(frozen=True)
class Base:
    """A configured build: `folder` holds its plan, `cxx` and `cc` compile for it."""

    folder: Path
    build: Build
    cxx: str
    cc: str
    system: System | None = None

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that are built, lowest first."""
        return tuple(level.name for level in self.build.plan.levels if level.verdict == "built")

    def compiler(self, language: str) -> str:
        """Return the compiler of a language."""
        return self.cxx if language == "cpp" else self.cc

    def reduced(self, folder: Path, kernels: dict[str, tuple[str, ...]]) -> Build:
        """Return the build of a random project in `folder` with these kernel sources and levels."""
        plan = self.build.plan
        rows = []
        for row in plan.kernels:
            if row.source in kernels:
                cells = tuple(_cell(cell, kernels[row.source]) for cell in row.cells)
                rows.append(replace(row, shown_path=str(folder / row.source), cells=cells))
        return replace(self.build, plan=replace(plan, kernels=tuple(rows), units=tuple(_units(plan, rows))))


def _cell(cell: Cell, levels: Sequence[str]) -> Cell:
    return cell if cell.level in levels else replace(cell, verdict="disabled", reason="not chosen", copy="")


def _units(plan: Plan, rows: Sequence[KernelRow]) -> list[Unit]:
    """Return the units of the plan with those of their copies that the rows have."""
    copies = {cell.copy for row in rows for cell in row.cells if cell.copy}
    found = (replace(unit, copies=tuple(copy for copy in unit.copies if copy in copies)) for unit in plan.units)
    return [unit for unit in found if unit.copies]


def make_base(tmp: Path, cxx: str, target: Target | None = None, system: System | None = None) -> Base:
    """Configure a build for a compiler of C++, such as g++-12 or clang++-16; or for the target's or the system's."""
    family, _, version = cxx.partition("-")
    cc = C_COMPILER.get(family, "") + ("-" + version if version else "")
    project = make_project(tmp, folder=f"base-{cxx}")
    sources = [f"{name}.{ending}" for name in KERNELS for ending in ("c", "cpp")]
    for source in [*sources, "ordinary.cpp"]:
        (project.folder / source).write_text("")
    project.folder.joinpath("meson.build").write_text(MESON.format(kernels=", ".join(map(repr, sources))))
    project.isagen("init")
    options = []
    if target is not None:
        name, options = cc, ["--cross-file", str(target.cross_file(project.folder, cc))]
        more = OPTIONS.get(target.family, [])
        cc, cxx = (_script(project.folder / one, [*target.compiler(name, one), *more]) for one in ("c", "cpp"))
    if system is not None:
        platform, options = system.platform, ["--cross-file", str(system.platform.cross_file(project.folder))]
        cc, cxx = (_script(project.folder / one, platform.compilers[one]) for one in ("c", "cpp"))
        project.environment |= system.environment()
    project.setup("-Doptimization=0", *options, CC=cc, CXX=cxx)
    folder = project.path("isagen")
    return Base(folder, read_plan(folder / plan_name()), cxx, cc, system)


def _script(path: Path, words: Sequence[str]) -> str:
    """Write a compiler for the target."""
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    path.chmod(0o755)
    return str(path)


@functools.cache
def link_template(cxx: str, linker: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the linker's arguments as the compiler's driver writes them, with INPUTS and OUTPUT in their places."""
    command = [cxx, "-###", f"-fuse-ld={linker}", "-Wl,--as-needed", *options, "INPUTS.o", "-o", "OUTPUT"]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "INPUTS.o").touch()  # Clang looks for it
        environment = {**os.environ, "LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)
    lines = [line for line in done.stderr.splitlines() if line.startswith(" ") and "INPUTS.o" in line]
    words = shlex.split(lines[-1])[1:]
    kept: list[str] = []
    for word, before in zip(words, ["", *words], strict=False):
        if before != "-plugin" and not DRIVERS_OWN.match(word):
            kept.append(word)
    return tuple(kept)
