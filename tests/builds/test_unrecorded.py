"""A link of kernels whose output has no record fails; one without kernels does not."""

import shutil
import stat

import pytest

from support.projects import make_project, need

# Every section that a linker's own script keeps, but for notes.
SCRIPT = "SECTIONS { /DISCARD/ : { *(.note.isagen) *(.note.*) } } INSERT AFTER .comment;\n"
TARGETS = """
notes = ['-Wl,-T,@0@'.format(meson.project_source_root() / 'discard.ld')]
executable('plain', 'src/program.cpp', dependencies: isa_kernels_dep)
executable('discards', 'src/program.cpp', dependencies: isa_kernels_dep, link_args: notes)
executable('other', 'src/other.cpp', link_args: isa_plan['link_args'] + notes)
pulled = static_library('pulled', 'src/program.cpp', dependencies: isa_kernels_dep)
executable('archive', link_with: pulled, link_args: isa_plan['link_args'] + notes)
executable('archive_unused', 'src/other.cpp', link_with: pulled, link_args: isa_plan['link_args'] + notes)
"""
PROGRAM = """
#include "../kernels/dot.h"
ISA_DEFINE_DISPATCH(dot_stub)
ISA_DEFINE_DISPATCH(level_stub)
int main() { return level_stub()[0] == 0; }
"""
SAID = "contains no record of isagen, although kernels are linked into it"


def new(folder, *options, **environment):
    project = make_project(folder)
    project.isagen("init", "--name", "hello")
    (project.folder / "discard.ld").write_text(SCRIPT)
    (project.folder / "src/program.cpp").write_text(PROGRAM)
    (project.folder / "src/other.cpp").write_text("int main() { }\n")
    with (project.folder / "meson.build").open("a") as stream:
        stream.write(TARGETS)
    project.setup("-Disa_levels=AVX2", *options, **environment)
    return project


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with programs that are linked in several ways."""
    return new(tmp_path_factory.mktemp("unrecorded"))


def target(project, name):
    done = project.run("ninja", "-C", project.build, name, check=False)
    assert "Traceback" not in done.stdout
    assert project.path(name).is_file() == (done.returncode == 0), done.stdout
    return done


def test_a_script_that_discards_notes_fails_the_link(project):
    done = target(project, "discards")
    assert done.returncode != 0
    assert f"isagen: error: discards: {SAID}\n  a linker script or an option" in done.stdout
    assert ".note.isagen" in done.stdout


@pytest.mark.parametrize("name", ["plain", "other", "archive_unused"])
def test_other_links_do_not_fail(project, name):
    assert target(project, name).returncode == 0


def test_kernels_of_an_archive(tmp_path):
    project = new(tmp_path)
    done = target(project, "archive")
    assert done.returncode != 0
    assert SAID in done.stdout


def test_a_partial_link_needs_no_record(project):
    target(project, "plain")
    sealed = sorted(project.path("isagen").glob("isa_*.o")) or sorted(project.path("isagen").glob("*.a.p/*.o"))
    linker = project.path("isagen/isa_tool/audit_error/ld")
    done = project.run(linker, "-r", "-o", project.path("partial.o"), *sealed)
    assert SAID not in done.stdout


def test_a_linker_that_strips_the_note_and_the_mode_that_only_warns(tmp_path):
    """objcopy inside what the build takes for its linker; only reported where findings do not fail links."""
    need("objcopy", "ld.bfd")
    tools = tmp_path / "tools"
    tools.mkdir()
    script = tools / "ld"
    real = shutil.which("ld.bfd")
    script.write_text(
        f'#!/bin/sh\n{real} "$@" || exit\nout=a.out\n'
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && out=$2; shift; done\n'
        '[ -f "$out" ] && objcopy --remove-section .note.isagen "$out"\nexit 0\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    project = new(tmp_path, "-Disa_audit=warn", COMPILER_PATH=str(tools))
    assert f'"ld":"{script}"' in project.path("isagen/isa_plan.json").read_text()
    project.environment["COMPILER_PATH"] = str(tools)
    done = target(project, "plain")
    assert done.returncode == 0
    assert f"isagen audit: warning: plain: {SAID}" in done.stdout
