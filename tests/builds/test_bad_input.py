"""Bad input: one clear error that names file, key and remedy, and nothing half-written."""

import pytest

from support.projects import matrix

EDITS = {
    "unknown level": ("isagen/isa.toml", 'levels = ["all"]', 'levels = ["AVX51"]', ["isa.toml: levels: unknown level 'AVX51'", "did you mean 'AVX512'?"]),
    "base off": ("isagen/isa.toml", 'levels = ["all"]', 'levels = ["-DEFAULT"]', ["isa.toml: levels: DEFAULT cannot be switched off"]),
    "unknown key": ("isagen/isa.toml", "override", "overide", ["isa.toml: overide: unknown key", "did you mean 'override'?"]),
    "wrong type": ("isagen/isa.toml", 'levels = ["all"]', "levels = 3", ["isa.toml: levels: must be a list of strings, not 3"]),
    "not toml": ("isagen/isa.toml", 'levels = ["all"]', 'levels = ["all"', ["isa.toml: is not valid TOML"]),
    "unknown table": ("isagen/isa.toml", '"default"', '"x87"', ["isa.toml: table: there is no table 'x87'", "did you mean 'x86'?"]),
    "missing table file": ("isagen/isa.toml", '"default"', '"mine.toml"', ["isa.toml: table: there is no table 'mine.toml'"]),
    "bad variable": ("isagen/isa.toml", '"HELLO_ISA"', '"HELLO ISA"', ["isa.toml: override: 'HELLO ISA' cannot name"]),
    "kernel unknown to meson": ("isagen/isa.toml", "# [kernels", '[kernels."kernels/dott.cpp"]\n# [', ["'kernels/dott.cpp' matches no kernel", "did you mean 'kernels/dot.cpp'?"]),
    "native": ("isagen/isa.toml", "# [kernels", '[kernels."kernels/dot.cpp"]\nargs = ["-march=native"]\n# [', ["-march=native would build for the CPU of this machine"]),
    "not a source": ("meson.build", "'kernels/level.cpp'", "'kernels/dot.h'", ["kernels/dot.h: is not C, C++, Fortran or assembly"]),
    "missing kernel": ("meson.build", "'kernels/level.cpp'", "'kernels/none.cpp'", ["kernels/none.cpp does not exist"]),
    "string, not files()": ("meson.build", "files('kernels/dot.cpp', 'kernels/level.cpp')", "['dot.cpp']", ["isa_kernels: dot.cpp: is a string: name kernels with files()"]),
}  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "expected"), EDITS.values(), ids=EDITS)
def test_configuring(scaffold, file, old, new, expected):
    scaffold.edit(file, old, new)
    said = scaffold.setup(check=False)
    for words in expected:
        assert words in said
    assert said.count("ERROR") == 1
    assert "Traceback" not in said
    assert not list(scaffold.path("isagen").glob("isa_plan.json"))


def test_an_unknown_level_in_the_option(scaffold):
    said = scaffold.setup("-Disa_levels=-AVX5", check=False)
    assert "Meson option isa_levels: unknown level '-AVX5'" in said


def test_a_cycle_in_a_table_of_one_s_own(scaffold):
    (scaffold.folder / "isagen/mine.toml").write_text(
        'extends = "x86"\n[levels.AVX2]\nrequires = ["AVX512"]\n[levels.AVX512]\nrequires = ["AVX2"]\n'
    )
    scaffold.edit("isagen/isa.toml", '"default"', '"mine.toml"')
    said = scaffold.setup(check=False)
    assert "mine.toml: levels.AVX2.requires: AVX512 does not rank below AVX2" in said


def test_an_error_after_a_good_build_leaves_it_as_it_was(scaffold):
    scaffold.setup()
    scaffold.ninja()
    plan = scaffold.path("isagen/isa_plan.json").read_bytes()
    scaffold.edit("isagen/isa.toml", 'levels = ["all"]', 'levels = ["AVX51"]')
    assert "unknown level 'AVX51'" in scaffold.ninja(check=False)
    assert scaffold.path("isagen/isa_plan.json").read_bytes() == plan
    scaffold.edit("isagen/isa.toml", 'levels = ["AVX51"]', 'levels = ["all"]')
    scaffold.ninja()
    assert "no work to do" in scaffold.ninja()


def test_a_kernel_that_is_listed_twice_is_built_once(scaffold):
    """As in the targets of Meson."""
    scaffold.edit("meson.build", "'kernels/level.cpp'", "['kernels/level.cpp'], 'kernels/level.cpp'")
    scaffold.setup("-Disa_levels=none")
    scaffold.ninja()
    assert [kernel["source"] for kernel in matrix(scaffold)["kernels"]] == ["kernels/dot.cpp", "kernels/level.cpp"]


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["probe", "--compiler", "no-such-cc"], "cpp compiler: there is no compiler 'no-such-cc'"),
        (["probe", "--compiler", "true"], "cpp compiler: 'true' does not answer as GCC or Clang do"),
        (["probe", "--table", "x87"], "--table: there is no table 'x87'"),
        (["matrix", "nowhere"], "nowhere: is no folder, file or installed module"),
        (["matrix", "."], "no build that uses isagen is here"),
        (["init", "--name", "not-a-name"], "--name: 'not-a-name' cannot name the package"),
    ],
)
def test_commands(new_project, arguments, expected):
    project = new_project()
    done = project.isagen(*arguments, check=False)
    assert done.returncode == 2
    assert done.stdout.startswith("isagen: error: ")
    assert expected in done.stdout
    assert not list(project.folder.iterdir())


def test_a_compiler_that_does_not_exist(scaffold):
    said = scaffold.setup(check=False, CXX="no-such-cc")
    assert "no-such-cc" in said
    assert "ERROR" in said


@pytest.mark.parametrize("kernel", ["do\\t.cpp", "do|t.cpp"])
def test_paths_that_meson_or_ninja_cannot_name(scaffold, kernel):
    (scaffold.folder / "kernels/dot.cpp").rename(scaffold.folder / "kernels" / kernel)
    scaffold.edit("meson.build", "kernels/dot.cpp", f"kernels/{kernel}".replace("\\", "\\\\"))
    said = scaffold.setup(check=False)
    assert said.count("ERROR") == 1
    assert f"isa_kernels: {f'kernels/{kernel}'!r}: has a line break, a backslash or a '|' in its path" in said
    assert not scaffold.path("isagen/isa_plan.json").exists()


def test_a_bar_in_the_path_of_the_build_folder(scaffold):
    scaffold.build = "bu|ild"
    scaffold.setup("-Disa_levels=none")
    scaffold.ninja()
    assert "no work to do" in scaffold.ninja()
