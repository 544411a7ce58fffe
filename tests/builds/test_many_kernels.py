"""A project with more than 2000 copies: sealing waits for archives of them, and writes a linker script."""

import json
import re

import pytest

from support.levels import ALL, supported_levels
from support.projects import Project, make_project, matrix, need

KERNELS = 251
MESON = """
project('many', 'c', meson_version: '>=1.0.1', default_options: ['optimization=1', 'debug=false', 'c_std=c11'])
isa_kernels = files(%s)
subdir('isagen')
executable('many', 'main.c', dependencies: isa_kernels_dep)
inner = static_library('inner', 'main.c', dependencies: isa_kernels_dep)
executable('outer', 'outer.c', link_with: inner)
"""
KERNEL = """
#include "stubs.h"
static int run(void) { return %d; }
ISA_REGISTER_DISPATCH(k%d, &run)
"""
MAIN = """
#include "stubs.h"
#include <stdio.h>
%s
int main(void)
{
  int sum = 0;
  %s
  printf("%%s %%d\\n", isa_level_name(isa_current_level()), sum);
  return 0;
}
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Project:
    """The project, configured."""
    project = make_project(tmp_path_factory.mktemp("many"), None, "many")
    numbers = range(KERNELS)
    declared = "".join(f"ISA_DECLARE_DISPATCH(many_fn, k{n})\n" for n in numbers)
    (project.folder / "stubs.h").write_text(
        f'#pragma once\n#include "isa_dispatch.h"\ntypedef int (*many_fn)(void);\n{declared}'
    )
    defined = "".join(f"ISA_DEFINE_DISPATCH(k{n})\n" for n in numbers)
    (project.folder / "main.c").write_text(MAIN % (defined, "".join(f"sum += k{n}();\n" for n in numbers)))
    for n in numbers:
        (project.folder / f"k{n}.c").write_text(KERNEL % (n, n))
    (project.folder / "outer.c").write_text("int unused;\n")
    (project.folder / "meson.build").write_text(MESON % ", ".join(f"'k{n}.c'" for n in numbers))
    project.isagen("init")
    project.setup()
    return project


def test_it_is_built_once_and_rebuilt_for_an_edit(many):
    many.ninja()
    best, total = supported_levels()[-1], sum(range(KERNELS))
    assert many.run(many.path("many")).stdout == many.run(many.path("outer")).stdout == f"{best} {total}\n"
    assert many.steps() == []
    many.edit("k7.c", "return 7", "return 1007")
    steps = many.steps()
    assert sum("Compiling" in step for step in steps) == len(ALL) + 2  # and the source of stubs, in two targets
    assert sum("isa_sealed" in step for step in steps) == 1
    assert many.run(many.path("many")).stdout == f"{best} {total + 1000}\n"


def test_editors_find_each_kernel_source_once(many):
    best = matrix(many)["levels"][-1]["name"]
    for _ in range(2):
        commands = json.loads(many.path("compile_commands.json").read_text())
        found = {one["file"]: one for one in commands if re.fullmatch(r"\.\./k\d+\.c", one["file"])}
        assert len(found) == len([one for one in commands if one["file"] in found]) == KERNELS
        entry = found["../k7.c"]
        assert f"-DCPU_CAPABILITY={best} " in entry["command"]
        many.run("sh", "-c", f"cd {entry['directory']} && {entry['command']} -fsyntax-only")
        many.run("meson", "setup", "--reconfigure", many.build)


def test_equal_copies_fold(many):
    found = matrix(many)
    assert all(one["levels"]["AVX512"]["folded"] for one in found["kernels"])
    registered = json.loads(many.path("isagen/isa_AVX512.json").read_text())
    assert len(registered["folded"]) == KERNELS


def test_no_command_line_grows_with_the_kernels(many):
    commands = re.findall(r"^ COMMAND = (.*)$", many.path("build.ninja").read_text(), re.MULTILINE)
    assert any("isa_tool/__main__.py seal" in command for command in commands)
    assert max(map(len, commands)) < 4096


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
def test_every_linker_reads_the_script(many, linker):
    need(f"ld.{linker}")
    commands = many.run("ninja", "-C", many.build, "-t", "commands", "many").stdout
    command = next(line for line in commands.splitlines() if " -o many " in line)
    words = command.replace(" -o many ", f" -o many_{linker} -fuse-ld={linker} ")
    said = many.run("sh", "-c", f"cd {many.build} && {words}").stdout
    assert "isagen audit" not in said
    assert many.run(many.path(f"many_{linker}")).stdout == many.run(many.path("many")).stdout


def test_the_audit_knows_the_objects_of_the_script(many):
    call = "  sum += k0();\n"
    past = "  { extern const many_fn isa_kernel_DEFAULT__k0; sum += isa_kernel_DEFAULT__k0(); }\n"
    many.edit("main.c", "  sum += k0();\n", past)
    said = many.ninja(check=False)
    many.edit("main.c", past, call)
    assert re.search(r"isagen audit: error: .*\n(.*\n)*.*isa_kernel_DEFAULT__k0", said)


def test_an_installed_static_library_needs_the_objects(many):
    meson = (many.folder / "meson.build").read_text()
    library = "static_library('installed', 'main.c', dependencies: isa_kernels_dep, install: true)\n"
    (many.folder / "meson.build").write_text(meson + library)
    assert re.search("ERROR: .*isa_sealed", many.run("meson", "setup", "other", check=False).stdout)
    objects = meson.replace("subdir('isagen')", "isa_link_objects = true\nsubdir('isagen')")
    (many.folder / "meson.build").write_text(objects + library)
    many.run("meson", "setup", "other")
    (many.folder / "meson.build").write_text(meson)
    assert "isa_DEFAULT.k0.c.o" in (many.folder / "other/build.ninja").read_text()
