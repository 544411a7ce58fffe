"""What the tests share: projects in folders of their own, built with real compilers the way a user builds them."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = Path(__file__).parent / "packages"
# The levels of the x86 table, lowest rank first.
ALL = ["DEFAULT", "AVX2", "AVX2_VNNI", "AVX512", "AVX512_VNNI", "AVX512_BF16", "AMX", "AVX512_FP16"]
# Options of a build whose levels are not sealed.
UNSEALED = ["-Disa_seal=false", "-Disa_audit=off"]


# Kept for the whole run of a test process: most tests ask the same compilers the same questions.
CACHE = tempfile.TemporaryDirectory(prefix="isagen-test-cache-")


def base_environment() -> dict[str, str]:
    """The user's environment with this interpreter's scripts first, the tests' own cache, and no compiler chosen."""
    environment = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    environment["XDG_CACHE_HOME"] = CACHE.name
    return environment


@dataclass
class Project:
    """A project in a folder of its own."""

    folder: Path
    environment: dict[str, str]
    build: str = "build"
    last: str = field(default="", repr=False)

    def run(self, *command: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess:
        """Run a command in the project's folder; both streams land in stdout."""
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            pytest.fail(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-6000:]}")
        return done

    def isagen(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
        return self.run(sys.executable, "-m", "isagen", *arguments, check=check)

    def setup(self, *arguments: str, check: bool = True, **environment: str) -> str:
        return self.run("meson", "setup", self.build, *arguments, check=check, **environment).stdout

    def ninja(self, *, check: bool = True) -> str:
        return self.run("ninja", "-C", self.build, check=check).stdout

    def steps(self, *, check: bool = True) -> list[str]:
        """Run ninja and return what it did, a line per step."""
        return [line for line in self.ninja(check=check).splitlines() if line.startswith("[")]

    def path(self, name: str) -> Path:
        return self.folder / self.build / name

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace text in a file."""
        path = self.folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")


def make_project(tmp: Path, name: str | None = None, folder: str = "project") -> Project:
    """Make a project in `tmp`: a copy of tests/packages/NAME, or an empty folder, in `folder`."""
    place = tmp / folder
    if name is None:
        place.mkdir(parents=True)
    else:
        shutil.copytree(PACKAGES / name, place)
    project = Project(place, base_environment())
    if name is not None:
        project.isagen("init")
    return project


@pytest.fixture
def new_project(tmp_path: Path) -> Callable[..., Project]:
    """Make a project of this test's own; see `make_project`."""
    return partial(make_project, tmp_path)


@pytest.fixture
def scaffold(new_project: Callable[..., Project]) -> Project:
    """The project that `isagen init` makes in an empty folder; its package is called hello."""
    project = new_project()
    project.isagen("init", "--name", "hello")
    return project


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory):
    """A folder with isagen's own wheel, for pip to find."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    pip_wheel(ROOT, folder)
    return folder


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


def matrix(project: Project) -> dict:
    """The build matrix of a project, as `isagen matrix` gives it to programs."""
    return json.loads(project.isagen("matrix", project.build, "--format", "json").stdout)


def verdicts(project: Project) -> dict[str, str]:
    """Each level's verdict."""
    return {level["name"]: level["verdict"] for level in matrix(project)["levels"]}


def need(*programs: str) -> None:
    """Skip the test if a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def supported_levels() -> list[str]:
    """The levels of the x86 table that this CPU supports, lowest first, as the reference extension says."""
    code = "import isagen_kernels._core as c, json, os, subprocess, sys\nprint(c.current_level())"
    found = []
    for name in ALL:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "ISAGEN_KERNELS_ISA": name},
            capture_output=True,
            text=True,
            check=True,
        )
        if done.stdout.strip() == name:
            found.append(name)
    return found


def script(words: Sequence[str]) -> str:
    """Join lines of Python for ``python -c``."""
    return "\n".join(words)
