"""Projects built the way users build them: pip, isolated or not, from an sdist, editable, from odd folders."""

import re
import subprocess

import pytest

from support.environments import equip, make_sdist, make_venv, pip
from support.projects import need

# An odd folder has all that a plain one has, and more; test_pip_kinds.py builds in plain ones with the newest Meson.
ODD = "Größe & π"


@pytest.fixture(scope="module")
def bare_venv(tmp_path_factory):
    """A virtual environment with nothing: isagen can only come from an isolated build."""
    return make_venv(tmp_path_factory.mktemp("bare") / "venv")


@pytest.fixture(scope="module")
def equipped_venv(tmp_path_factory, wheelhouse):
    """A virtual environment with all that a build without isolation needs."""
    return equip(make_venv(tmp_path_factory.mktemp("equipped") / "venv"), wheelhouse)


@pytest.fixture
def hello(new_project, wheelhouse):
    """The project that `isagen init` makes; pip finds isagen in the wheelhouse."""
    project = new_project(None, ODD)
    project.isagen("init", "--name", "hello")
    project.environment |= {"PIP_FIND_LINKS": str(wheelhouse), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return project


def ask(project, python, expression):
    """Evaluate an expression about the installed package, from another folder."""
    code = f"import hello; print({expression})"
    return project.run(str(python), "-c", f"import os; os.chdir('/'); {code}").stdout.strip()


@pytest.mark.smoke
def test_isolated_from_the_folder_and_from_its_sdist(hello, bare_venv):
    pip(hello, bare_venv, "install", "--force-reinstall", ".")
    assert ask(hello, bare_venv, "hello.dot(bytes([200] * 50), bytes([255] * 50))") == "-10000"
    assert ask(hello, bare_venv, "all(built for built, _, _ in hello.isa.levels.values())") == "True"
    sdist = make_sdist(hello)
    pip(hello, bare_venv, "uninstall", "-qy", "hello")
    pip(hello, bare_venv, "install", str(sdist))
    assert ask(hello, bare_venv, "hello.dot(b'\\x02', b'\\x03')") == "6"
    pip(hello, bare_venv, "uninstall", "-qy", "hello")


def test_isolated_editable_rebuilds_after_a_kernel_is_edited(hello, bare_venv):
    """isagen itself is gone by then: the build folder holds all that the build steps need."""
    need("ninja")
    assert "No module named" in hello.run(str(bare_venv), "-c", "import isagen.cli", check=False).stdout
    pip(hello, bare_venv, "install", "--force-reinstall", "-e", ".")
    assert ask(hello, bare_venv, "hello.dot(b'\\x02', b'\\x03')") == "6"
    hello.edit("kernels/dot.cpp", "a[i] * b[i]", "a[i] * b[i] + 1")
    assert ask(hello, bare_venv, "hello.dot(b'\\x02', b'\\x03')") == "7"
    pip(hello, bare_venv, "uninstall", "-qy", "hello")


def test_without_isolation_by_the_distribution_s_meson(hello, equipped_venv):
    need("/usr/bin/meson")
    python = equipped_venv
    environment = {"PATH": f"{python.parent}:{hello.environment['PATH']}", "MESON": "/usr/bin/meson"}
    said = pip(
        hello,
        python,
        "install",
        "-v",
        "--no-build-isolation",
        ".",
        "--config-settings=setup-args=-Disa_levels=-AMX",
        **environment,
    )
    shown = subprocess.run(["/usr/bin/meson", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    assert f"Version: {shown}" in said
    assert re.search(r"disabled +: AMX by the Meson option isa_levels", said)
    assert ask(hello, python, "hello.isa.levels['AMX'][0], hello.dot(b'\\x02', b'\\x03')") == "False 6"
    pip(hello, python, "uninstall", "-qy", "hello")

    pip(hello, python, "install", "--no-build-isolation", "-e", ".", **environment)
    hello.edit("kernels/dot.cpp", "a[i] * b[i]", "a[i] * b[i] + 1")
    assert ask(hello, python, "hello.dot(b'\\x02', b'\\x03')") == "7"
    pip(hello, python, "uninstall", "-qy", "hello")


def test_the_oldest_supported_meson(scaffold, tmp_path):
    python = make_venv(tmp_path / "venv")
    pip(scaffold, python, "install", "-q", "meson==1.0.1")
    said = scaffold.run(str(tmp_path / "venv/bin/meson"), "setup", "build").stdout
    assert "Version: 1.0.1" in said
    assert "WARNING" not in said
    scaffold.ninja()
