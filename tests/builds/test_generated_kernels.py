"""Kernels that templates, generators and configure_file() write: results, dependencies, line numbers, and mistakes."""

import re

import pytest

from support.extensions import BITS, at_each_level, line_table
from support.projects import need

RUN = (
    "[(x := array.array(t, range(37)), m.scale(x, 0.5), m.clip(x, 1, 3)) and x.tolist() for t in 'fd'] + [m.numbers(5)]"
)


@pytest.fixture
def generated(prepared):
    """The package, with debug information, compiled by GCC."""
    pytest.importorskip("Cython")
    return prepared("generated", "-Ddebug=true")


def check_results(project):
    clipped = [min(max(x / 2, 1), 3) for x in range(37)]
    for level, found in at_each_level(project, "generated_kernels", RUN).items():
        assert found == [clipped, clipped, [BITS[level], 7, 38]]


def compiled(project):
    """Build, and return the kernels that were compiled, one entry for each object."""
    return sorted(re.search(r"_\.\._(\w+)\.cpp\.\w+\.cpp\.o", step)[1] for step in project.compiled())


@pytest.mark.smoke
def test_results_at_each_level(generated):
    check_results(generated)


def test_with_clang(prepared):
    pytest.importorskip("Cython")
    need("clang-16", "clang++-16")
    check_results(prepared("generated", "-Disa_levels=AVX512", CC="clang-16", CXX="clang++-16"))


@pytest.mark.parametrize(
    ("source", "kernel"),
    [
        ("kernels/scale.cpp.j2", "scale"),
        ("kernels/loop.j2", "scale"),
        ("kernels/clip.cpp.in", "clip"),
        ("kernels/offset.txt", "offset"),
    ],
)
def test_an_edit_rebuilds_what_is_made_from_it_and_nothing_else(generated, source, kernel):
    assert "no work to do" in generated.ninja()
    path = generated.folder / source
    path.write_text(path.read_text() + {".txt": " 4\n"}.get(path.suffix, "// a comment\n"))
    assert compiled(generated) == [kernel] * 3
    assert "no work to do" in generated.ninja()


def test_an_edited_script_makes_its_kernels_again(generated):
    generated.edit("tools/render.py", "result = []", 'result = ["// a comment"]')
    assert compiled(generated) == ["clip"] * 3 + ["scale"] * 3


def test_an_edited_input_of_configure_file(generated):
    generated.edit("meson.build", "{'bias': 7}", "{'bias': 8}")
    assert compiled(generated) == ["bias"] * 3
    assert set(map(tuple, at_each_level(generated, "generated_kernels", "m.numbers(0)[1:]").values())) == {(8, 3)}


def test_lines_lead_to_the_templates(generated):
    table = line_table(generated, "isagen/isa_AVX2.scale.cpp.o")
    assert re.search(r"^loop\.j2 +2 ", table, re.M)
    assert re.search(r"^scale\.cpp\.j2 +7 ", table, re.M)
    assert not re.search(r"^scale\.cpp(\.AVX2\.cpp)? +\d+ ", table, re.M)
    generated.edit("kernels/loop.j2", "*= by", "*= bye")
    generated.edit("kernels/clip.cpp.in", "values[i]);", "vales[i]);")
    said = generated.ninja(check=False)
    assert re.search(r"\.\./kernels/loop\.j2:2:\d+: error", said)
    assert re.search(r"\.\./kernels/clip\.cpp\.in:7:\d+: error", said)


# ---- mistakes

PROJECT = """
project('mistaken', 'cpp', meson_version: '>=1.4', default_options: ['cpp_std=c++17'])
copy = find_program('cp')
{}
subdir('isagen')
executable('main', 'main.cpp', dependencies: isa_kernels_dep)
"""
TARGET = (
    "one = custom_target(input: 'one.in', output: {}, command: [find_program('sh'), '-c', {}, '@INPUT@', '@OUTDIR@'])\n"
)
TWO = TARGET.format("['one.cpp', 'two.cpp']", "'cp $0 $1/one.cpp; cp $0 $1/two.cpp'")
HEADER_FIRST = TARGET.format("['one.h', 'one.cpp']", "'cp $0 $1/one.h; cp $0 $1/one.cpp'")


@pytest.fixture
def mistaken(new_project):
    """Return a function that makes a project with a text in its meson.build."""

    def make(text):
        project = new_project()
        stub = '#include "isa_dispatch.h"\nISA_DECLARE_DISPATCH(int (*)(void), stub)\n'
        (project.folder / "one.in").write_text(stub)
        (project.folder / "one.cpp").write_text("")
        (project.folder / "main.cpp").write_text("int main() {}\n")
        (project.folder / "meson.build").write_text(PROJECT.format(text))
        project.isagen("init")
        return project

    return make


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TWO + "isa_generated = {'one.cpp': one}",
            "isa_kernels: one.cpp: the targets that generate kernel sources have the outputs one.cpp, two.cpp instead\n"
            "  name one output of each target: target[0]",
        ),
        (
            TWO + "isa_generated = {'one.cpp': one, "
            "'three.cpp': configure_file(input: 'one.in', output: 'three.cpp', copy: true)}",
            "isa_kernels: one.cpp, three.cpp: the targets that generate kernel sources have the outputs "
            "one.cpp, two.cpp, three.cpp instead",
        ),
        (
            HEADER_FIRST + "isa_kernels = []\nisa_generated = {'one.cpp': one}",
            "isa_kernels: one.cpp: the targets that generate kernel sources have the outputs one.h, one.cpp instead\n"
            "  name one output of each target: target[0]",
        ),
    ],
)
def test_targets_of_several_outputs(mistaken, text, message):
    project = mistaken(text)
    project.setup()
    assert message in project.ninja(check=False)


CONFIGURED = "configure_file(input: 'one.in', output: 'made.cpp', copy: true)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER_FIRST + "isa_generated = {'one.h': one}", "one.h: is not C, C++, Fortran or assembly"),
        (
            "isa_kernels = files('one.cpp')\nisa_generated = {'one.cpp': generator(copy, output: '@BASENAME@.cpp', "
            "arguments: ['@INPUT@', '@OUTPUT@']).process('one.in')}",
            "isa_kernels: one.cpp: is listed twice",
        ),
        (
            f"isa_kernels = {CONFIGURED}",
            "isa_kernels: made.cpp: there is no such kernel source in {}\n  name existing files with files(); for the "
            "output of a target or of configure_file(), write isa_generated = {{'made.cpp': target}}",
        ),
        (
            TARGET.format("'made.cpp'", "'cp $0 $1/made.cpp'") + "isa_kernels = files('one.cpp')\nisa_kernels += one",
            "write isa_generated = {{'made.cpp': target}}",
        ),
    ],
)
def test_what_configuring_refuses(mistaken, text, message):
    project = mistaken(text)
    assert message.format(project.folder) in project.setup(check=False)
