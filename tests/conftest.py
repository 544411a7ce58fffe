"""The fixtures that tests share; what else they share is in tests/support.

Each folder is a tier, and one command, `pytest tests/unit`: unit (no compiler to speak of, seconds), builds (compilers,
Meson, pip, qemu), kernels (the reference extension), long (sanitizers and other architectures, minutes for a test).
"""

import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support.checkout import ROOT
from support.once import locked
from support.projects import CACHE, Project, make_project, pip_wheel


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let the tests of an `xdist_group` share what is built for them: one process runs them all."""
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "loadgroup"


def pytest_configure(config: pytest.Config) -> None:
    """Make a cache for all processes of the run: most tests ask the same compilers the same questions."""
    if CACHE not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="isagen-test-cache-")
        os.environ[CACHE] = folder.name
        config.add_cleanup(lambda: (os.environ.pop(CACHE), folder.cleanup()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where tests are distributed, start with the long ones, so that no process waits for another's last test."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: "long" not in item.path.parts)


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
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with isagen's own wheel, for pip to find."""
    with locked(tmp_path_factory, "wheelhouse") as folder:
        if not list(folder.glob("*.whl")):
            pip_wheel(ROOT, folder)
    return folder
