"""The fixtures that tests share; shared helpers are in tests/support.

Each folder is a tier: unit (hardly any compiler, seconds), builds (compilers, Meson, pip, qemu), kernels (the reference
extension), long (sanitizers and other architectures, minutes for a test). `pytest tests/unit` runs a tier and
`pytest tests` all. `pytest` without a path runs what is marked smoke: unit tests, and a few others for each guarantee.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import distribution, version
from importlib.util import find_spec
from pathlib import Path

import platformdirs
import pytest

from support.checkout import ROOT
from support.once import locked
from support.projects import CACHE, SCAFFOLD, Project, make_project, pip_wheel

pytest_plugins = ["support.what_ran"]
# A tier, and the other files that take more than a minute.
LONGEST = {
    "long",
    "test_audit_of_builds.py",
    "test_everywhere.py",
    "test_hostile.py",
    "test_instrumented.py",
    "test_macho_loader.py",
    "test_pip.py",
    "test_pip_kinds.py",
    "test_platforms.py",
    "test_tiles.py",
    "test_torch.py",
    "test_vec.py",
}


def pytest_configure(config: pytest.Config) -> None:
    """Make a cache for all processes of the run: most tests ask the same compilers the same questions."""
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.markexpr:
        config.option.markexpr = "smoke"
    if CACHE not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="isagen-test-cache-")
        os.environ[CACHE] = folder.name
        # Files of Python are compiled when they are first imported: of those that pip installs, few are.
        os.environ["PIP_COMPILE"] = "0"
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        # Meson calls ccache if it is installed: the same text is compiled once, in whichever folder it lies.
        os.environ |= {"CCACHE_DIR": f"{folder.name}/ccache", "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"}
        # zig compiles the libraries of each target once, and finds them where it keeps them for all its users.
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", platformdirs.user_cache_dir("zig"))
        os.environ["ZIG_LOCAL_CACHE_DIR"] = f"{folder.name}/zig"
        if find_spec("ziglang") is not None:
            os.environ.setdefault("ZIG_LIB_DIR", str(_sources_of_zig(Path(os.environ["ZIG_GLOBAL_CACHE_DIR"]))))
        config.add_cleanup(lambda: (os.environ.pop(CACHE), folder.cleanup()))


def _sources_of_zig(cache: Path) -> Path:
    """Return a copy of the sources of zig's libraries, whose paths are part of the keys of its cache.

    Otherwise each new virtual environment would compile the libraries again.
    """
    sources = cache / f"lib-{version('ziglang')}"
    if not sources.exists():
        cache.mkdir(parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(dir=cache), "lib")
        shutil.copytree(Path(str(distribution("ziglang").locate_file("ziglang")), "lib"), own)
        own.rename(sources)
        own.parent.rmdir()
    return sources


def pytest_report_header(config: pytest.Config) -> str | None:
    return "the tests that are marked smoke; `pytest tests` runs all" if config.option.markexpr == "smoke" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With several processes, start with the long tests and files, so that none is left for the end."""
    for item in items:
        if "unit" in item.path.parts:
            item.add_marker("smoke")
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not LONGEST & {*item.path.parts})


@pytest.fixture
def new_project(tmp_path: Path) -> Callable[..., Project]:
    """Make a project of this test's own; see `make_project`."""
    return partial(make_project, tmp_path)


@pytest.fixture
def scaffold(new_project: Callable[..., Project]) -> Project:
    """The project that `isagen init` makes in an empty folder; its package is called hello."""
    return new_project(SCAFFOLD)


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with isagen's own wheel, for pip to find."""
    with locked(tmp_path_factory, "wheelhouse") as folder:
        if not list(folder.glob("*.whl")):
            pip_wheel(ROOT, folder)
    return folder
