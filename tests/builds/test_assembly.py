"""Kernels in assembly, and those of C and C++ that isa.toml registers."""

import re

import pytest

from support.extensions import BITS, at_each_level
from support.platforms import PLATFORMS
from support.projects import make_project, matrix, need

RUN = (
    "[m.sum(x := array.array('I', range(n))) for n in range(70)] + [m.scale(x, 3), x.tolist(), m.count(x, 9), m.bits()]"
)


@pytest.fixture
def assembly(prepared):
    """The package, compiled by GCC."""
    return prepared("assembly")


def check_results(project):
    for level, found in at_each_level(project, "assembly_kernels", RUN).items():
        assert found == [
            *(sum(range(n)) for n in range(70)),
            None,
            [3 * x for x in range(69)],
            1,
            BITS[level],
        ]


@pytest.mark.smoke
def test_results_at_each_level(assembly):
    check_results(assembly)


def test_with_clang(prepared):
    need("clang-16", "clang++-16")
    check_results(prepared("assembly", CC="clang-16", CXX="clang++-16"))


def test_on_a_system_that_isagen_does_not_know_the_reason_is_the_system(tmp_path):
    """The seal is off there too, which alone would be another reason."""
    platform = PLATFORMS["made-up"]
    project = make_project(tmp_path, "assembly")
    project.setup("--cross-file", str(platform.cross_file(tmp_path)))
    kernels = {one["source"]: one["levels"] for one in matrix(project)["kernels"]}
    assert {levels["AVX2"]["reason"] for levels in kernels.values()} == {platform.reason}


def test_code_and_labels_of_a_level_are_its_own(assembly):
    (library,) = assembly.path("").glob("assembly_kernels*.so")
    table = assembly.run("readelf", "-sW", str(library)).stdout
    sections = re.findall(r"\[ *(\d+)\] \.isa_text\.(\w+)", assembly.run("readelf", "-SW", str(library)).stdout)
    for number, level in sections:
        for name in ("sum", "add_rest"):  # add_rest has no type
            found = re.search(rf"LOCAL +DEFAULT +(\d+) {name}\.{level.lower()}\.\d+$", table, re.M)
            assert found[1] == number
    assert len(sections) == 3


def test_the_assembler_names_the_original(assembly):
    path = assembly.folder / "kernels/sum.S"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, "        jmp nowhere(", ""]))
    assert re.search(rf"\.\./kernels/sum\.S:{len(lines) + 1}: Error", assembly.ninja(check=False))


def test_an_instruction_that_the_level_does_not_check(assembly):
    assembly.edit("kernels/sum.S", "vpxor   %ymm0, %ymm0, %ymm0", "vpxord  %ymm0, %ymm0, %ymm0")
    said = assembly.ninja(check=False)
    assert re.search(r"sum\.avx2\.\d+ at AVX2, in kernels/sum\.S\n", said)
    assert "vpxord" in said


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"sum"', '"summ"', "sum_stub: kernels/sum.S registers summ at DEFAULT, but no kernel source defines it"),
        ('"scale"', '"scales"', r"isa.toml: kernels.kernels/scale.c.register:2:"),
        ('scale_stub = "scale"', 'sum_stub = "scale"', "the type of the function is not the one that"),
        ('"counting::bits"', '"counting::count"', "isa.toml: kernels.kernels/count.cpp.register:3:"),
    ],
)
def test_what_is_registered_must_fit(assembly, old, new, message):
    assembly.edit("isagen/isa.toml", old, new)
    assert message in assembly.ninja(check=False)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        ("kernels/add.S", "\n        .data\n        .globl state\nstate:  .long 1\n"),
        ("kernels/scale.c", "extern int state;\nint state = 1;\n"),
    ],
)
def test_data_for_all_to_see_is_explained(assembly, kernel, text):
    path = assembly.folder / kernel
    path.write_text(path.read_text() + text)
    said = assembly.ninja(check=False)
    assert f"isagen: error: state: {kernel} defines this variable at each level: DEFAULT, AVX2, AVX512\n" in said
    assert "without .globl in assembly" in said
