"""Compilers behind ccache and distcc, and wheels of two folders: nothing that is compiled depends on the folder."""

import os
import re
import socket
import subprocess
import time
import zipfile

import pytest

from support.prepared import FEW
from support.projects import make_project, need, pip_wheel

EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}


def hello(folder, name):
    project = make_project(folder, None, name)
    project.isagen("init", "--name", "hello")
    return project


def counted(project, name):
    """How often ccache counted something since the last time."""
    said = project.run("ccache", "--print-stats").stdout
    project.run("ccache", "--zero-stats")
    return int(re.search(rf"^{name}\t(\d+)", said, re.MULTILINE)[1])


def test_a_second_checkout_compiles_nothing(tmp_path):
    need("ccache", "gcc", "g++")
    environment = {
        "CCACHE_DIR": str(tmp_path / "cache"),
        "CC": "ccache gcc",
        "CXX": "ccache g++",
        "CCACHE_DISABLE": None,
        "CCACHE_NOHASHDIR": None,
    }
    misses = []
    for name in ("one", "the other/checkout of it"):
        project = hello(tmp_path, name)
        project.environment |= environment
        project.environment = {key: value for key, value in project.environment.items() if value is not None}
        project.setup()
        counted(project, "cache_miss")
        project.ninja()
        misses.append(counted(project, "cache_miss"))
    assert misses[0] > 10
    assert misses[1] == 0


@pytest.fixture
def servers(tmp_path):
    """Two servers of distcc, with which this machine compiles for itself; and the file of what each did."""
    need("distcc", "distccd", "gcc", "g++")
    found, running = {}, []
    place = tmp_path / "servers"
    place.mkdir()
    place.chmod(0o777)  # as root, a server changes to another user
    for parent in place.parents[: len(place.parts) - 3]:
        parent.chmod(0o755)
    for number in range(2):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        log = place / f"{number}.log"
        options = ["--daemon", "--no-detach", "--jobs=2", "--verbose", "--enable-tcp-insecure"]
        options += [f"--port={port}", "--listen=127.0.0.1", "--allow=127.0.0.1", f"--log-file={log}"]
        running.append(subprocess.Popen(["distccd", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        found[f"127.0.0.1:{port}"] = log
    for host in found:
        for _ in range(100):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", int(host.partition(":")[2]))) == 0:
                    break
            time.sleep(0.1)
    yield found
    for server in running:
        server.terminate()
        server.wait()


def test_two_servers_of_distcc_compile_the_kernels(tmp_path, servers):
    project = hello(tmp_path, "project")
    project.environment |= {
        "CC": "distcc gcc",
        "CXX": "distcc g++",
        "DISTCC_HOSTS": " ".join(servers),
        "DISTCC_FALLBACK": "0",  # what no server compiles is an error
        "DISTCC_BACKOFF_PERIOD": "0",  # or a flag that is refused, which probes ask for, costs a minute
        "DISTCC_DIR": str(tmp_path / "state"),
    }
    (tmp_path / "state").mkdir()
    project.setup()
    project.run("ninja", "-j4", "-C", project.build)
    compiled = [log.read_text().count("COMPILE_OK") for log in servers.values()]
    assert min(compiled) > 0
    commands = project.run("ninja", "-C", project.build, "-t", "commands").stdout
    assert sum(compiled) >= commands.count(" -c ")
    place = str(tmp_path / "place")
    project.run("meson", "install", "-C", project.build, "--no-rebuild", "--destdir", place)
    (site,) = {path.parent.parent for path in (tmp_path / "place").rglob("hello/__init__.py")}
    code = "import hello; print(hello.isa.current, hello.dot(b'\\x02', b'\\x03'))"
    assert project.run("python3", "-c", code, PYTHONPATH=str(site)).stdout.split()[1] == "6"


def test_wheels_of_two_folders_are_the_same(tmp_path, wheelhouse):
    wheels = []
    for name in ("one", "another, with a longer name"):
        project = hello(tmp_path, name)
        few = f"--config-settings=setup-args={FEW}"
        place, found = tmp_path / f"wheel of {name}", {"PIP_FIND_LINKS": str(wheelhouse)}
        wheels.append(pip_wheel(project.folder, place, few, **EPOCH, **found))
        time.sleep(1.1)  # times in archives have seconds
    with zipfile.ZipFile(wheels[0]) as first, zipfile.ZipFile(wheels[1]) as second:
        for member in first.namelist():
            assert first.read(member) == second.read(member), member
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    assert os.path.basename(wheels[0]) == os.path.basename(wheels[1])
