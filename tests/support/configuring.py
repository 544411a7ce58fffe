"""A project that a copy of isagen configures, called as the Meson fragment calls it, without Meson."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from isagen.configure.request import FRAGMENT_FORMAT
from isagen.model.digests import digest_of
from support.checkout import ROOT
from support.projects import base_environment

TABLE = """
extends = "x86"
keep = ["DEFAULT", "AVX2", "AVX512"]
prologue = '''
#include <immintrin.h>
#include "{folder}/probed.h"
'''
"""
# The compiler that a file names, which may do something besides.
COMPILER = """#!/bin/sh
. {folder}/chosen
exec $compiler "$@"
"""


class Fragment:
    """The project, its build folder, the isagen that configures it, and the environment of all calls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = folder / "site" / "isagen"
        for name in ("isagen", "templates"):
            shutil.copytree(ROOT / name, folder / "site" / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.output = folder / "build" / "isagen"
        self.output.mkdir(parents=True)
        self.tool = self.output / "isa_tool"
        self.record = self.output / ".isa_plan.answer"
        self.longer = folder / "cache/isagen/answers" / digest_of(os.fsencode(self.record))
        self.bin = folder / "bin"
        self.bin.mkdir()
        (self.bin / "own-cc").write_text(COMPILER.format(folder=folder))
        (self.bin / "own-cc").chmod(0o755)
        (folder / "chosen").write_text("compiler=gcc\n")
        (folder / "probed.h").write_text("/* a header */\n")
        (folder / "own.toml").write_text(TABLE.format(folder=folder))
        (folder / "isa.toml").write_text('table = "own.toml"\n')
        (folder / "one.c").write_text("int one;\n")
        (folder / "two.c").write_text("int two;\n")
        self.environment = base_environment() | {
            "PYTHONPATH": str(folder / "site"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "TOKEN": "a secret of the environment",
        }
        self.environment["PATH"] = f"{self.bin}{os.pathsep}{self.environment['PATH']}"

    def words(self, *more: str, **changed: str) -> list[str]:
        values = {
            "fragment-format": str(FRAGMENT_FORMAT),
            "name": "again",
            "config": str(self.folder / "isa.toml"),
            "depfile": str(self.folder / "build/isa_plan.d"),
            "depfile-target": "isa_plan.conf",
            "source-root": str(self.folder),
            "project-root": str(self.folder),
            "build-root": str(self.folder / "build"),
            "output": str(self.output),
            "cpu-family": "x86_64",
            "system": "linux",
            "optimization": "3",
            "levels": "all",
            "probe-cache": "true",
            "label": "",
            **{name.replace("_", "-"): value for name, value in changed.items()},
        }
        compiler = ("language=c", "id=gcc", "version=12.2.0", "syntax=gcc", "linker=ld.bfd", "command=own-cc")
        kernels = ("--kernel=one.c", "--kernel=two.c")
        options = [f"--{name}={value}" for name, value in values.items()]
        return [*options, *more, *kernels, *(f"--{word}" for word in compiler)]

    def call(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *command],
            cwd=self.folder / "build",
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=True,
        )

    def configure(self, words: list[str] | None = None, **environment: str) -> tuple[str, bool]:
        """Configure; return the answer, and whether it is the last one, for which nothing was loaded that reads."""
        command = ("-X", "importtime", "-m", "isagen", "configure", *(self.words() if words is None else words))
        done = self.call(*command, **environment)
        loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert "isagen.configure.again" in loaded
        return done.stdout, not {"tomllib", "json", "subprocess", "isagen.configure.configure"} & loaded

    def forget(self) -> None:
        """Remove the records of the last answer."""
        self.record.unlink()
        self.longer.unlink()

    def files(self) -> dict[str, tuple[int, bytes]]:
        """Return what configuring left, with permissions; the record says when."""
        found = [path for path in self.output.rglob("*") if path.is_file() and path != self.record]
        return {str(path): (path.stat().st_mode, path.read_bytes()) for path in found}

    def settle(self) -> str:
        """Configure until the last answer is given again, and return it. The first one may leave bytecode."""
        for _ in range(4):
            text, again = self.configure()
            if again:
                return text
        raise AssertionError(f"nothing is given again: {text}")
