"""The recipes for the audit in CI run as the page shows them: a sound wheel passes, one with a faulty library fails."""

import os
import re
import shutil
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from support.checkout import ROOT
from support.projects import make_project, need

PAGE = (ROOT / "docs/cibuildwheel.md").read_text(encoding="utf-8").partition("## The audit in CI")[2]
FAULTY = "#include <vector>\nstd::vector<float> ones(1000, 1.0f);\n"
SUMMARY = re.compile("^(ok|fail)   ", re.M)


def recipe(language):
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE.partition("## Wheel variants")[0], re.S)[-1:]
    return text


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the folders `good` and `bad`, a wheel in each; the bad one has a library for AVX2 alone."""
    need("g++", "git")
    pytest.importorskip("auditwheel")
    made = make_project(tmp_path_factory.mktemp("recipes"))
    made.environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    made.isagen("init", "--name", "hello")
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", "good", ".")
    made.run(*pip, "--config-settings=setup-args=-Disa_levels=AVX2")
    (good,) = (made.folder / "good").glob("*.whl")
    (made.folder / "faulty.cpp").write_text(FAULTY)
    made.run("g++", "-O2", "-mavx2", "-fPIC", "-shared", "faulty.cpp", "-o", "libfaulty.so")
    (made.folder / "bad").mkdir()
    with zipfile.ZipFile(shutil.copy(good, made.folder / "bad"), "a") as archive:
        archive.write(made.folder / "libfaulty.so", "hello/libfaulty.so")
    return made


@pytest.mark.parametrize(("folder", "outcome"), [("good", "ok"), ("bad", "fail")])
def test_the_repair_step_of_cibuildwheel(project, tmp_path, folder, outcome):
    commands = tomllib.loads(recipe("toml"))["tool"]["cibuildwheel"]["linux"]["repair-wheel-command"]
    (wheel,) = (project.folder / folder).glob("*.whl")
    command = " && ".join(commands).format(dest_dir=tmp_path, wheel=wheel)
    done = project.run("sh", "-c", command, check=False)
    assert SUMMARY.findall(done.stdout) == [outcome], done.stdout
    assert (done.returncode == 0) is (outcome == "ok")


@pytest.mark.parametrize(("folder", "outcome"), [("good", "ok"), ("bad", "fail")])
def test_the_step_of_a_workflow(project, folder, outcome):
    (command,) = re.findall(r"- run: pipx run (isagen audit .*)", PAGE)
    (project.folder / "audit.toml").write_text("")
    done = project.run("sh", "-c", command.replace("wheelhouse", folder), check=False)
    assert SUMMARY.findall(done.stdout) == [outcome], done.stdout
    assert (done.returncode == 0) is (outcome == "ok")


def test_the_hook_of_pre_commit(project, tmp_path):
    pytest.importorskip("pre_commit")
    git = ("git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.c")
    project.run(*git, "init", "-q")
    (tmp_path / ".pre-commit-config.yaml").write_text(recipe("yaml"))
    project.run("sh", "-c", f"cd {tmp_path} && pre-commit install")
    environment = {"PRE_COMMIT_HOME": str(tmp_path / ".git/pre-commit")}
    for folder, outcome in (("good", "Passed"), ("bad", "Failed")):
        (wheel,) = (project.folder / folder).glob("*.whl")
        shutil.copy(wheel, tmp_path / f"{folder}-{wheel.name}")
        project.run(*git, "add", "-A")
        done = project.run(*git, "commit", "-q", "-m", folder, check=False, **environment)
        assert f"{outcome}\n" in done.stdout, done.stdout
        assert (done.returncode == 0) is (outcome == "Passed")
    assert "fail   bad-hello" in done.stdout
