"""Stubs are set before the first call: from many threads, in initialisers, in loaded libraries, with LTO."""

import subprocess

import pytest

from support.compiling import need_runtime
from support.levels import supported_levels
from support.pairs import paired
from support.projects import need

PROGRAMS = {
    "in an executable": ["build/whole"],
    "in a linked library": ["build/linked"],
    "in a library that threads load at once": ["build/loaded", "build/librace.so"],
}
RACY = """#include <thread>
int x;
void add() { for (int i = 0; i < 100000; i++) x++; }
int main() { std::thread t(add); add(); t.join(); }
"""
OPTIONS = {
    "plain": [],
    "lto": ["-Db_lto=true"],
    "unoptimised": ["-Dbuildtype=debug"],
}


def build(new_project, *options, **environment):
    project = new_project("threads")
    project.setup(f"-Disa_levels={supported_levels()[-1]}", *options, **environment)
    project.ninja()
    return project


def chosen(compiler):
    """Return an environment that selects a C++ compiler and its C compiler."""
    return {"CXX": compiler, "CC": {"g++": "gcc", "clang++-16": "clang-16"}[compiler]}


def check_every_program(project):
    """Check which level ran: by default, and with an override."""
    levels = supported_levels()
    for command in PROGRAMS.values():
        for asked in (levels[-1], levels[0]):
            said = project.run(*command, THREADS_ISA=asked).stdout
            assert said == f"initialiser {asked} constructor {asked} threads {asked} current {asked}\n", command


def need_sanitizer(compiler, folder):
    """Skip the test unless `compiler` has a thread sanitizer that reports a race here."""
    need_runtime(compiler, "-fsanitize=thread")
    (folder / "probe.cpp").write_text(RACY)
    words = [compiler, "-fsanitize=thread", "-pthread", "probe.cpp", "-o", "probe"]
    subprocess.run(words, cwd=folder, check=True)
    ran = subprocess.run(["./probe"], cwd=folder, capture_output=True, text=True, check=False)
    if "data race" not in ran.stderr:
        pytest.skip(f"{compiler}'s thread sanitizer does not run here: {ran.stderr[:200]}")
    assert ran.returncode != 0


@pytest.mark.parametrize(("compiler", "options"), paired(["g++", "clang++-16"], OPTIONS.values()))
def test_every_first_call_runs_the_one_right_kernel(new_project, compiler, options):
    need(compiler)
    project = build(new_project, *options, **chosen(compiler))
    check_every_program(project)
    project.isagen("audit", project.build)  # exit status 0: nothing is found


@pytest.mark.parametrize("compiler", [pytest.param("g++", marks=pytest.mark.smoke), "clang++-16"])
def test_the_thread_sanitizer_sees_no_race(new_project, tmp_path, compiler):
    need_sanitizer(compiler, tmp_path)
    project = build(new_project, "-Db_sanitize=thread", **chosen(compiler))
    check_every_program(project)  # a report is output, and an exit status of 66
