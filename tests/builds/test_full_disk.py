"""Files that cannot grow, as on a full disk: one clear error that names the file, and nothing half-written."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.projects import make_project, need

SAID = "File too large"  # what the OS says where a limit is met; of a full disk it says "No space left on device"


def limited(project, size, *command, folder=None, **environment):
    """Run a command whose files cannot become larger than `size` bytes."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder or project.folder,
        env={**project.environment, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert "Traceback" not in done.stdout
    assert "Exception ignored" not in done.stdout
    assert SAID in done.stdout, done.stdout
    assert done.returncode != 0
    return done.stdout


def files(folder):
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project whose kernels are compiled."""
    project = make_project(tmp_path_factory.mktemp("full"))
    project.isagen("init", "--name", "hello")
    project.setup("-Disa_levels=AVX2")
    project.run("ninja", "-C", project.build, "isagen/isa_stubs.cpp")
    return project


@pytest.mark.parametrize("step", ["emit", "seal"])
def test_steps(project, step):
    tool, plan = (project.path(f"isagen/{name}") for name in ("isa_tool/__main__.py", "isa_plan.json"))
    target = project.folder / f"new_{step}"
    written = {"emit": "isa_dispatch.cpp", "seal": "isa_DEFAULT.dot.cpp.o"}[step]
    said = limited(project, 80, sys.executable, tool, step, plan, target, folder=project.path(""))
    assert f"isagen: error: {target}/{written}: {SAID}" in said
    assert said.count("error") == 1
    assert not files(target)


def test_configuring(project):
    """The largest files that configuring writes are those of the decoder."""
    said = limited(project, 1 << 20, "meson", "setup", "other", "-Disa_levels=AVX2")
    assert said.count("ERROR") == 1
    assert f"ERROR: Problem encountered: isagen: {project.folder}/other/isagen/isa_tool/" in said
    assert not (project.folder / "other/isagen/isa_plan.json").exists()
    assert not list((project.folder / "other").rglob(".*.*"))


def test_init_and_demo(project, tmp_path):
    (tmp_path / "new").mkdir()
    said = limited(project, 400, sys.executable, "-m", "isagen", "init", tmp_path / "new")
    assert said.startswith(f"isagen: error: {tmp_path}/new/")
    assert not list(tmp_path.rglob(".*.*"))
    said = limited(project, 1 << 20, sys.executable, "-m", "isagen", "demo", "--keep", tmp_path / "demo")
    assert f"isagen: {tmp_path}/demo/build/isagen/isa_tool/" in said


@pytest.mark.parametrize("command", [["cpu"], ["--help"], ["matrix", "build"]])
def test_the_standard_output(project, command):
    need("sh")
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    environment = {name: value for name, value in project.environment.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" > /dev/full', "sh", sys.executable, "-m", "isagen", *command],
        cwd=project.folder, env=environment, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == f"isagen: error: standard output: {os.strerror(28)}\n"
