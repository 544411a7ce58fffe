"""Projects in folders of their own, built with real compilers the way a user builds them."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.checkout import ROOT

PACKAGES = ROOT / "tests/packages"
# Options of a build whose levels are not sealed.
UNSEALED = ["-Disa_seal=false", "-Disa_audit=off"]
# The package that `isagen init` makes in an empty folder.
SCAFFOLD = "hello"
# The variable that names the folder of the tests' own cache, which all processes of a run share: conftest.py makes it.
CACHE = "ISAGEN_TEST_CACHE"


def base_environment() -> dict[str, str]:
    """The user's environment with this interpreter's scripts first, the tests' own cache, and no compiler chosen."""
    environment = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    environment["XDG_CACHE_HOME"] = os.environ[CACHE]
    return environment


def compilations(steps: list[str]) -> list[str]:
    """The steps that compile sources; the table of stubs is compiled again with each sealing."""
    return [step for step in steps if "Compiling" in step and "isa_stubs" not in step]


@dataclass
class Project:
    """A project in a folder of its own."""

    folder: Path
    environment: dict[str, str]
    build: str = "build"
    last: str = field(default="", repr=False)

    def run(self, *command: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
        """Run a command in the project's folder; both streams land in stdout."""
        # A file, because services that wine starts would keep a pipe open.
        words, environment = [str(word) for word in command], {**self.environment, **environment}
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(
                words, cwd=self.folder, env=environment, stdout=said, stderr=subprocess.STDOUT, text=True, check=False
            )
            said.seek(0)
            done.stdout = said.read()
        if check and done.returncode != 0:
            pytest.fail(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-6000:]}")
        return done

    def isagen(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.run(sys.executable, "-m", "isagen", *arguments, check=check)

    def setup(self, *arguments: str, check: bool = True, **environment: str) -> str:
        return self.run("meson", "setup", self.build, *arguments, check=check, **environment).stdout

    def ninja(self, *, check: bool = True) -> str:
        # a build that is to fail tells of every failure, in whichever order its steps run
        going = [] if check else ["-k0"]
        return self.run("ninja", *going, "-C", self.build, check=check).stdout

    def steps(self, *, check: bool = True) -> list[str]:
        """Run ninja and return what it did, a line per step."""
        return [line for line in self.ninja(check=check).splitlines() if line.startswith("[")]

    def compiled(self, *, check: bool = True) -> list[str]:
        """Run ninja and return what it compiled."""
        return compilations(self.steps(check=check))

    def path(self, name: str) -> Path:
        return self.folder / self.build / name

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace text in a file."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")


def make_project(tmp: Path, name: str | None = None, folder: str = "project") -> Project:
    """Make a project in `tmp`: a copy of tests/packages/NAME, the scaffold, or an empty folder, in `folder`."""
    place = tmp / folder
    if name is None:
        place.mkdir(parents=True)
    else:
        shutil.copytree(_initialised(name), place)
    return Project(place, base_environment())


@functools.cache
def _initialised(name: str) -> Path:
    """What `isagen init` makes of a package, or of an empty folder; each process runs it once."""
    project = Project(Path(tempfile.mkdtemp(dir=os.environ[CACHE]), "project"), base_environment())
    if name == SCAFFOLD:
        project.folder.mkdir()
        project.isagen("init", "--name", name)
    else:
        shutil.copytree(PACKAGES / name, project.folder)
        project.isagen("init")
    return project.folder


def pip_wheel(source: Path, folder: Path, *arguments: str, **environment: str) -> Path:
    """Build the wheel of a source folder or an sdist with pip, isolated, and return its path."""
    folder.mkdir(exist_ok=True)
    before = set(folder.glob("*.whl"))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, source, *arguments]
    subprocess.run(
        [str(word) for word in command], env={**os.environ, **environment}, check=True, stdin=subprocess.DEVNULL
    )
    (wheel,) = set(folder.glob("*.whl")) - before
    return wheel


def matrix(project: Project, where: str | Path = "") -> dict:
    """The build matrix of a project's build folder, or of a binary, as `isagen matrix` gives it to programs."""
    return json.loads(project.isagen("matrix", where or project.build, "--format", "json").stdout)


def verdicts(project: Project) -> dict[str, str]:
    """Each level's verdict."""
    return {level["name"]: level["verdict"] for level in matrix(project)["levels"]}


def need(*programs: str) -> None:
    """Skip the test if a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def script(words: Sequence[str]) -> str:
    """Join lines of Python for ``python -c``."""
    return "\n".join(words)
