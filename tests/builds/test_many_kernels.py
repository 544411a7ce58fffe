"""A project with more than 2000 copies: sources are compiled themselves where they can be."""

import json
import re
import shutil

import pytest

from isagen.model.objects import unit_folder
from isagen.model.plan_file import read_plan
from support.levels import ALL, supported_levels
from support.projects import Project, compilations, make_project, matrix

PLAIN = 251
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
# What other kernels return. The first two are compiled themselves, one with arguments of its own; the rest has copies.
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
    project.setup()
    return project


def test_it_is_built_once_and_rebuilt_for_an_edit(many):
    many.ninja()
    best = supported_levels()[-1]
    assert many.run(many.path("many")).stdout == many.run(many.path("outer")).stdout == f"{best} {TOTAL}\n"
    assert many.steps() == []
    many.edit("7.c", "return 7", "return 1007")
    steps = many.steps()
    assert len(compilations(steps)) == len(ALL)
    assert sum("isa_sealed" in step for step in steps) == 1
    assert many.run(many.path("many")).stdout == f"{best} {TOTAL + 1000}\n"


def test_copies_are_of_kernels_that_meson_cannot_compile_alone(many):
    many.ninja()
    cells = {one["source"]: one["levels"]["AVX2"] for one in matrix(many)["kernels"]}
    copies = {cell["copy"] for cell in cells.values() if cell["copy"]}
    assert copies == {"a_b.c.AVX2.c", "b.c.AVX2.c", "registered.c.AVX2.c", "made.c.AVX2.c"}
    assert {path.name for path in many.path("isagen").glob("*.AVX2.c")} == copies
    assert all(cell["seconds"] and cell["stubs"] for cell in cells.values())


def test_editors_find_each_kernel_source_first_at_the_best_level(many):
    best = matrix(many)["levels"][-1]["name"]
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


@pytest.mark.parametrize("options", [[], ["-Dlayout=flat"]])
@pytest.mark.parametrize("inner", [False, True])
def test_meson_calls_objects_as_isagen_expects(many, tmp_path, inner, options):
    """Of a project, and of a subproject."""
    folder, place = tmp_path / "project", "isagen"
    if inner:
        folder, place = folder / "subprojects/many", "subprojects/many/isagen"
        folder.parent.mkdir(parents=True)
        (tmp_path / "project/meson.build").write_text("project('outer')\nsubproject('many')\n")
    shutil.copytree(many.folder, folder, ignore=shutil.ignore_patterns("build", "other"))
    build = tmp_path / "build"
    many.run("meson", "setup", build, tmp_path / "project", *options)
    plan = read_plan(build / place / "isa_plan.json").plan
    outputs = "meson-out" if options else place
    expected = {f"{outputs}/{unit_folder(unit.name)}/{name}" for unit, name in direct_objects(plan)}
    assert len(expected) == (PLAIN + 2) * len(ALL)
    made = re.findall(r"^build (.+): c_COMPILER", (build / "build.ninja").read_text(), re.MULTILINE)
    assert expected <= {name.replace("$ ", " ").replace("$$", "$") for name in made}


def direct_objects(plan):
    """The units of a plan with the objects that are compiled from sources themselves."""
    names = {cell.copy: kernel.object for kernel, cell in plan.copies() if kernel.object}
    return [(unit, names[copy]) for unit in plan.units for copy in unit.copies if copy in names]


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


def test_objects_of_copies_that_a_smaller_set_left_are_not_sealed(many):
    """Ninja removes them, unless its log is lost."""
    left = many.path("isagen/libisa_DEFAULT.a.p/meson-generated_.._7.c.DEFAULT.c.o")
    many.ninja()
    shutil.copy(many.path("isagen/libisa_DEFAULT.a.p/.._8.c.o"), left)
    before = many.run(many.path("many"), MANY_ISA="DEFAULT").stdout
    many.edit("7.c", "return ", "return 100000 + ")
    many.ninja()
    after = many.run(many.path("many"), MANY_ISA="DEFAULT").stdout
    many.edit("7.c", "return 100000 + ", "return ")
    left.unlink()
    assert int(after.split()[1]) == int(before.split()[1]) + 100000
