"""Which Python runs isagen: that of the environment which Meson runs in, unasked, or the one that Meson asks."""

import sys
from pathlib import Path

import pytest

from support.environments import equip, make_venv, pip
from support.projects import make_project

# Python runs it at each start, with the names of the module or script still before the arguments.
SEEN = "import os, sys; 'SEEN' in os.environ and open(os.environ['SEEN'], 'a').write(' '.join(sys.orig_argv) + '\\n')"
OWN = f"python3.{sys.version_info.minor}"
MODULES = f"lib/{OWN}/site-packages"


def equipped(folder, wheelhouse):
    """Make a virtual environment with isagen and Meson, whose Python tells how it is called."""
    place = equip(make_venv(folder), wheelhouse).parent.parent
    (place / MODULES / "seen.pth").write_text(SEEN)
    return place


@pytest.fixture(scope="module")
def environment(tmp_path_factory, wheelhouse):
    return equipped(tmp_path_factory.mktemp("environment") / "one", wheelhouse)


@pytest.fixture
def project(tmp_path, environment):
    """A project whose Meson is that of the environment."""
    found = make_project(tmp_path)
    found.isagen("init", "--name", "hello")
    # The project's own extension, for which Meson asks Python, too.
    (found.folder / "meson.build").write_text(
        "project('hello', 'cpp', meson_version: '>=1.0.1')\n"
        "isa_kernels = files('kernels/dot.cpp', 'kernels/level.cpp')\nsubdir('isagen')\n"
        "shared_module('core', files('kernels/none.cpp'), dependencies: isa_kernels_dep)\n"
    )
    (found.folder / "kernels/none.cpp").write_text('#include "isa_dispatch.h"\n')
    found.environment |= {"PATH": f"{environment}/bin:{found.environment['PATH']}", "SEEN": str(tmp_path / "seen")}
    return found


def found_python(project, *options, meson=("meson",)):
    """Configure, and return the Python that the build's steps run on."""
    seen = Path(project.environment["SEEN"])
    seen.write_text("")
    project.run(*meson, "setup", project.build, *options)
    values = dict(line.split("=", 1) for line in project.path("isagen/isa_plan.conf").read_text().splitlines())
    said = seen.read_text()
    assert " -m isagen configure " in said
    return values["python"]


def machine_file(project, python):
    (project.folder / "native.ini").write_text(f"[binaries]\npython = '{python}'\n")
    return "--native-file=native.ini"


def test_another_one_of_a_machine_file_is_asked(project, wheelhouse, tmp_path):
    other = equipped(tmp_path / "other", wheelhouse)
    assert found_python(project, machine_file(project, other / "bin/python")) == f"{other}/bin/python3"


def test_a_wrapper_of_a_machine_file_is_asked(project, environment, tmp_path):
    wrapper = environment / "bin/wrapped"
    wrapper.write_text(f'#!/bin/sh\necho called >> {tmp_path}/called\nexec {environment}/bin/python "$@"\n')
    wrapper.chmod(0o755)
    found_python(project, machine_file(project, wrapper))
    assert (tmp_path / "called").read_text().count("called") > 1


@pytest.mark.parametrize("as_module", [False, True])
def test_meson_is_not_of_the_environment_that_is_active(project, environment, tmp_path, as_module):
    """What is found is its own environment, though not named as on PATH: the same steps then run on the same Python."""
    active = make_venv(tmp_path / "active").parent
    project.environment["PATH"] = f"{active}:{project.environment['PATH']}"
    meson = [f"{environment}/bin/python", "-m", "mesonbuild.mesonmain"] if as_module else [f"{environment}/bin/meson"]
    assert found_python(project, meson=meson) == f"{environment}/bin/python3"


def test_an_older_meson_does_not_say_where_it_is(project, environment, wheelhouse, tmp_path):
    """It takes `meson` for a program of PATH, which is that of another environment."""
    old = equipped(tmp_path / "old", wheelhouse)
    pip(project, old / "bin/python", "install", "-q", "meson==1.1.1")
    assert found_python(project, meson=[f"{old}/bin/meson"]) == f"{old}/bin/python3"
