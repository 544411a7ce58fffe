"""A project with hundreds of copies, of sources with odd, equal, generated and registered names."""

import json
import re

import pytest

from support.levels import level_that_runs, supported_levels
from support.prepared import FEW
from support.projects import Project, compilations, make_project, matrix

PLAIN = 61
LEVELS = ("DEFAULT", "AVX2", "AVX512")  # of FEW
MESON = """
project('many', 'c', meson_version: '>=1.0.1', default_options: ['optimization=1', 'debug=false', 'c_std=c11'])
isa_kernels = files(%s)
isa_generated = {'made.c': configure_file(input: 'made.c.in', output: 'made.c', configuration: {'NUMBER': '5000'})}
subdir('isagen')
executable('many', 'main.c', dependencies: isa_kernels_dep)
inner = static_library('inner', 'main.c', dependencies: isa_kernels_dep)
executable('outer', 'outer.c', link_with: inner)
"""
CONFIG = """
[kernels."own.c"]
args = ["-DOWN=1000"]
[kernels."registered.c".register]
k_registered = "run"
"""
KERNEL = """
#include "stubs.h"
static int run(void) { return %s; }
"""
REGISTER = "ISA_REGISTER_DISPATCH(k_%s, &run)\n"
# What other kernels return: one has arguments of its own, others odd or equal names, or what Meson makes.
OTHERS = {"own": 1000, "é $/odd": 6000, "a/b": 2000, "a_b": 3000, "registered": 4000, "made": 5000}
TOTAL = sum(range(PLAIN)) + sum(OTHERS.values())
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
    returned = {str(n): str(n) for n in range(PLAIN)} | {name: str(number) for name, number in OTHERS.items()}
    returned |= {"own": "OWN", "made": "@NUMBER@"}
    stubs = {name: name.replace("/", "__").replace("é $", "odd") for name in returned}
    declared = "".join(f"ISA_DECLARE_DISPATCH(many_fn, k_{stub})\n" for stub in stubs.values())
    (project.folder / "stubs.h").write_text(
        f'#pragma once\n#include "isa_dispatch.h"\ntypedef int (*many_fn)(void);\n{declared}'
    )
    defined = "".join(f"ISA_DEFINE_DISPATCH(k_{stub})\n" for stub in stubs.values())
    (project.folder / "main.c").write_text(MAIN % (defined, "".join(f"sum += k_{s}();\n" for s in stubs.values())))
    for name in ("a", "é $"):
        (project.folder / name).mkdir()
    for name, value in returned.items():
        text = KERNEL % value + (REGISTER % stubs[name] if name != "registered" else "")
        (project.folder / ("made.c.in" if name == "made" else f"{name}.c")).write_text(text)
    (project.folder / "outer.c").write_text("int unused;\n")
    files = ", ".join(f"'{name}.c'" for name in returned if name != "made")
    (project.folder / "meson.build").write_text(MESON % files)
    project.isagen("init")
    with (project.folder / "isagen/isa.toml").open("a") as config:
        config.write(CONFIG)
    project.setup(FEW)
    return project


def test_it_is_built_once_and_rebuilt_for_an_edit(many):
    many.ninja()
    best = level_that_runs(set(LEVELS) & set(supported_levels()), LEVELS[-1])
    assert many.run(many.path("many")).stdout == many.run(many.path("outer")).stdout == f"{best} {TOTAL}\n"
    assert many.steps() == []
    many.edit("7.c", "return 7", "return 1007")
    steps = many.steps()
    assert len(compilations(steps)) == len(LEVELS)
    assert sum("isa_sealed" in step for step in steps) == 1
    assert many.run(many.path("many")).stdout == f"{best} {TOTAL + 1000}\n"


def test_every_copy_has_its_own_measures(many):
    many.ninja()
    cells = [one["levels"]["AVX2"] for one in matrix(many)["kernels"]]
    assert len({cell["copy"] for cell in cells}) == PLAIN + len(OTHERS)
    assert all(cell["stubs"] for cell in cells)


def test_editors_find_each_kernel_source_first_at_the_best_level(many):
    best = LEVELS[-1]
    for _ in range(2):
        first = {}
        commands = json.loads(many.path("compile_commands.json").read_text())
        for one in commands:
            first.setdefault(one["file"], one)
        assert sum("output" not in one for one in commands) == PLAIN + len(OTHERS) - 1  # made.c is generated
        for name in ("7", "own", "é $/odd", "a/b", "registered"):
            entry = first[f"../{name}.c"]
            assert "output" not in entry
            assert f"-DCPU_CAPABILITY={best} " in entry["command"]
            assert entry["command"].count(f"isa_guard_{best}.h") == 1
            many.run("sh", "-c", f"cd {entry['directory']} && {entry['command']} -fsyntax-only")
        many.run("meson", "setup", "--reconfigure", many.build)


def test_equal_copies_fold(many):
    found = matrix(many)
    assert all(one["levels"]["AVX512"]["folded"] for one in found["kernels"])
    registered = json.loads(many.path("isagen/isa_AVX512.json").read_text())
    assert len(registered["folded"]) == PLAIN + len(OTHERS)


def test_no_command_line_grows_with_the_kernels(many):
    commands = re.findall(r"^ COMMAND = (.*)$", many.path("build.ninja").read_text(), re.MULTILINE)
    assert any("isa_tool/__main__.py seal" in command for command in commands)
    assert max(map(len, commands)) < 4096


def test_the_audit_knows_the_objects(many):
    call = "sum += k_0();\n"
    past = "  { extern const many_fn isa_kernel_DEFAULT__k_0; sum += isa_kernel_DEFAULT__k_0(); }\n"
    many.edit("main.c", "sum += k_0();\n", past)
    said = many.ninja(check=False)
    many.edit("main.c", past, call)
    assert re.search(r"isagen audit: error: .*\n(.*\n)*.*isa_kernel_DEFAULT__k_0", said)
