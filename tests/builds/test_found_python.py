"""Which Python runs isagen: that of the environment which Meson runs in, unasked, or the one that Meson asks."""

import shutil
import sys

import pytest

from support.environments import equip, make_venv
from support.projects import make_project

OWN = f"python3.{sys.version_info.minor}"
OTHER = f"python3.{sys.version_info.minor + 1}"


@pytest.fixture(scope="module")
def environment(tmp_path_factory, wheelhouse):
    """A virtual environment with isagen and Meson."""
    return equip(make_venv(tmp_path_factory.mktemp("environment") / "one"), wheelhouse).parent.parent


@pytest.fixture
def project(tmp_path, environment):
    """A project whose Meson is that of the environment."""
    found = make_project(tmp_path)
    found.isagen("init", "--name", "hello")
    found.environment["PATH"] = f"{environment}/bin:{found.environment['PATH']}"
    return found


def python_that_ran(project, *options, meson="meson"):
    """Configure, and return the path of the Python that ran isagen."""
    project.run(meson, "setup", project.build, *options)
    values = dict(line.split("=", 1) for line in project.path("isagen/isa_plan.conf").read_text().splitlines())
    return values["python"]


def machine_file(project, python):
    (project.folder / "native.ini").write_text(f"[binaries]\npython = '{python}'\n")
    return "--native-file=native.ini"


def test_it_is_found_without_asking(project, environment):
    assert python_that_ran(project) == f"{environment}/bin/{OWN}"


def test_that_of_a_machine_file_is_found_without_asking(project, environment):
    """meson-python names the Python that it runs on in such a file."""
    assert python_that_ran(project, machine_file(project, f"{environment}/bin/python")) == f"{environment}/bin/{OWN}"


def test_another_one_of_a_machine_file_is_asked(project, environment, wheelhouse, tmp_path):
    other = equip(make_venv(tmp_path / "other"), wheelhouse)
    assert python_that_ran(project, machine_file(project, other)) == str(other)


def test_meson_is_not_of_the_environment_that_is_active(project, environment, tmp_path):
    """The Python that Meson runs on is asked; that which is found on PATH has no isagen."""
    project.environment["PATH"] = f"{make_venv(tmp_path / 'active').parent}:{project.environment['PATH']}"
    found = python_that_ran(project, meson=f"{environment}/bin/meson")
    assert found in (f"{environment}/bin/python", f"{environment}/bin/python3")


@pytest.mark.parametrize("executable", [False, True])
def test_modules_that_another_python_left(project, environment, tmp_path, executable):
    """An environment that was upgraded has modules of two versions: without an executable, the old ones say nothing."""
    for name in ("bin/meson", "bin/ninja", f"bin/{OWN}", "pyvenv.cfg"):
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(environment / name, tmp_path / "copy" / name, follow_symlinks=False)
    (tmp_path / "copy/bin/python").symlink_to(OWN)
    (tmp_path / "copy/bin/meson").write_text(
        (environment / "bin/meson").read_text().replace(str(environment), str(tmp_path / "copy"))
    )
    for name in (OWN, OTHER):
        (tmp_path / "copy/lib" / name).mkdir(parents=True)
        (tmp_path / "copy/lib" / name / "site-packages").symlink_to(environment / "lib" / OWN / "site-packages")
    if executable:
        (tmp_path / "copy/bin" / OTHER).symlink_to(OWN)
    project.environment["PATH"] = f"{tmp_path}/copy/bin:{project.environment['PATH']}"
    expected = ["python", "python3"] if executable else [OWN]
    assert python_that_ran(project) in [f"{tmp_path}/copy/bin/{name}" for name in expected]
