"""A project with more than 2000 copies, for which the fragment makes archives that sealing waits for."""

import json
import re

import pytest

from support.levels import ALL, supported_levels
from support.projects import Project, make_project, matrix

KERNELS = 251
MESON = """
project('many', 'c', meson_version: '>=1.0.1', default_options: ['optimization=1', 'debug=false', 'c_std=c11'])
isa_kernels = files(%s)
subdir('isagen')
executable('many', 'main.c', dependencies: isa_kernels_dep)
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
    (project.folder / "meson.build").write_text(MESON % ", ".join(f"'k{n}.c'" for n in numbers))
    project.isagen("init")
    project.setup()
    return project


def test_it_is_built_once_and_rebuilt_for_an_edit(many):
    many.ninja()
    best, total = supported_levels()[-1], sum(range(KERNELS))
    assert many.run(many.path("many")).stdout == f"{best} {total}\n"
    assert many.steps() == []
    many.edit("k7.c", "return 7", "return 1007")
    steps = many.steps()
    assert sum("Compiling" in step for step in steps) == len(ALL) + 1  # and the source of stubs
    assert sum("isa_sealed" in step for step in steps) == 1
    assert many.run(many.path("many")).stdout == f"{best} {total + 1000}\n"


def test_equal_copies_fold(many):
    found = matrix(many)
    assert all(one["levels"]["AVX512"]["folded"] for one in found["kernels"])
    registered = json.loads(many.path("isagen/isa_AVX512.json").read_text())
    assert len(registered["folded"]) == KERNELS


def test_no_command_line_grows_with_the_kernels(many):
    commands = re.findall(r"^ COMMAND = (.*)$", many.path("build.ninja").read_text(), re.MULTILINE)
    assert any("isa_tool/__main__.py seal" in command for command in commands)
    assert max(map(len, commands)) < 4096
