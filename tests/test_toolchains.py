"""Other compilers, linkers, Mesons and machines, and options that change how everything is compiled."""

import re

import pytest
from conftest import ALL, matrix, need, verdicts


def test_gcc_11_lacks_the_highest_level_and_says_why(scaffold):
    need("g++-11")
    said = scaffold.setup(CXX="g++-11")
    scaffold.ninja()
    assert re.search(r"AVX512_FP16: unavailable: GCC 11\.\d+\.\d+ is older than 12\.1", said)
    assert verdicts(scaffold) == {**dict.fromkeys(ALL, "built"), "AVX512_FP16": "unavailable"}
    assert len(list(scaffold.path("isagen").glob("isa_*.o"))) == 7


@pytest.mark.parametrize("compiler", ["g++", "clang++-16", "clang++-14"])
def test_compilers_that_have_all_levels(scaffold, compiler):
    need(compiler)
    scaffold.setup("-Dwerror=true", "-Dwarning_level=3", CXX=compiler)
    scaffold.ninja()
    assert set(verdicts(scaffold).values()) == {"built"}
    dropped = {level["name"]: level["dropped"] for level in matrix(scaffold)["levels"]}
    assert bool(dropped["AVX2"]) == compiler.startswith("clang")


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
def test_linkers(scaffold, linker):
    need({"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}[linker])
    scaffold.setup(CXX="g++", CXX_LD=linker)
    scaffold.ninja()
    assert scaffold.path(f"isagen/isa_{ALL[-1]}.o").exists()


@pytest.mark.parametrize(
    "options",
    [["-Db_lto=true"], ["--unity=on"], ["-Db_sanitize=address"], ["-Ddefault_library=static"], ["-Db_coverage=true"]],
)
def test_options_that_change_how_everything_is_compiled(new_project, options):
    project = new_project("mixed")
    project.setup(*options)
    project.ninja()
    assert project.run(project.path("mixed")).stdout.startswith("70 700 1001 ")


def test_flto_in_the_environment_does_not_reach_the_kernels(new_project):
    project = new_project("mixed")
    project.setup(CFLAGS="-flto", CXXFLAGS="-flto")
    project.ninja()
    assert project.run(project.path("mixed")).stdout.startswith("70 700 1001 ")


def test_a_distribution_s_meson_on_another_python_finds_isagen_on_the_path(scaffold):
    need("/usr/bin/meson")
    scaffold.run("/usr/bin/meson", "setup", scaffold.build)
    scaffold.ninja()
    assert set(verdicts(scaffold).values()) == {"built"}


def test_another_architecture_gets_its_baseline(new_project):
    need("aarch64-linux-gnu-g++", "qemu-aarch64")
    project = new_project("leak")
    cross = project.folder / "cross.ini"
    cross.write_text(
        "[binaries]\nc = 'aarch64-linux-gnu-gcc'\ncpp = 'aarch64-linux-gnu-g++'\n"
        "exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']\n"
        "[host_machine]\nsystem = 'linux'\ncpu_family = 'aarch64'\ncpu = 'aarch64'\nendian = 'little'\n"
    )
    said = project.setup("--cross-file", str(cross))
    assert re.search(r"table +: generic", said)
    project.ninja()
    done = project.run("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", project.path("leak"))
    assert done.stdout.split()[:2] == ["128", "128"]
    project.edit("isagen/isa.toml", 'levels = ["all"]', 'levels = ["AVX512"]')  # of another architecture: no error
    project.setup("--reconfigure", "-Disa_levels=-AMX")
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "x86"')
    failed = project.run("meson", "setup", "other", "--cross-file", str(cross), check=False)
    assert failed.returncode != 0
    assert "isa.toml: table: table x86 is for x86, x86_64, but this build is for aarch64" in failed.stdout


def test_c_kernels_first_and_cpp_kernels_that_throw(new_project):
    """Linked as C++ although the project and the first kernel are C: the C++ run-time library must be there."""
    project = new_project("mixed")
    project.edit("meson.build", "project('mixed', 'c', 'cpp'", "project('mixed', 'c'")
    project.edit("meson.build", "'main.c', 'caller.cpp'", "'main.c', 'caller.c'")
    (project.folder / "caller.cpp").unlink()
    (project.folder / "caller.c").write_text("int called_from_cpp(void);\nint called_from_cpp(void) { return 20; }\n")
    project.edit("offset.cc", "  *result =", '  if (value < 0)\n    throw std::runtime_error("negative");\n  *result =')
    project.edit("offset.cc", "namespace {", "#include <stdexcept>\nnamespace {")
    project.setup()
    project.ninja()
    assert project.run(project.path("mixed")).stdout.startswith("70 700 1001 ")
