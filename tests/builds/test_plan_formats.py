"""Every command and build step that reads a plan of another format ends in one error that says what to do."""

import re
import sys

import pytest

from isagen.model.plan_file import PLAN_FORMAT


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """A project that was built, and whose plan then became one of an earlier format."""
    from support.projects import make_project

    project = make_project(tmp_path_factory.mktemp("formats"))
    project.isagen("init", "--name", "hello")
    project.setup("-Disa_levels=AVX2")
    project.ninja()
    plan = project.path("isagen/isa_plan.json")
    text, count = re.subn(r'"format":\d+', '"format":2', plan.read_text(), count=1)
    assert count == 1
    plan.write_text(text)
    return project


def commands(project):
    tool, plan = project.path("isagen/isa_tool/__main__.py"), project.path("isagen/isa_plan.json")
    (extension,) = (path for path in project.path("").glob("*.so"))
    yield [sys.executable, "-m", "isagen", "matrix", "build"]
    yield [sys.executable, "-m", "isagen", "audit", "build"]
    yield [sys.executable, "-m", "isagen", "audit", extension]
    yield [sys.executable, tool, "emit", plan, project.path("isagen")]
    yield [sys.executable, tool, "seal", plan, project.path("isagen")]
    yield [sys.executable, tool, "link", plan, "error", "/usr/bin/ld", "--version"]


def test_one_clear_error(old):
    for command in commands(old):
        done = old.run(*command, check=False)
        said = [line for line in done.stdout.splitlines() if "isa_plan.json" in line]
        assert done.returncode != 0, command
        assert "Traceback" not in done.stdout, command
        assert len(said) == 1, (command, done.stdout)
        assert f"cannot be read: it is of format 2, and this isagen reads format {PLAN_FORMAT}" in said[0], command
        assert "meson setup --reconfigure" in done.stdout, command
