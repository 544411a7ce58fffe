"""Other compilers, linkers, Mesons and machines, and options that affect every compilation."""

import re
import shutil
from pathlib import Path

import pytest

from isagen.matrix.words import WITHOUT_LTO
from support.levels import ALL
from support.prepared import FEW
from support.projects import matrix, need, verdicts


def test_gcc_11_lacks_the_highest_level_and_says_why(scaffold):
    need("g++-11")
    said = scaffold.setup(CXX="g++-11")
    scaffold.ninja()
    assert re.search(r"AVX512_FP16: unavailable: GCC 11\.\d+\.\d+ is older than 12\.1", said)
    assert verdicts(scaffold) == {**dict.fromkeys(ALL, "built"), "AVX512_FP16": "unavailable"}
    assert len(list(scaffold.path("isagen").glob("isa_*.dot.cpp.o"))) == len(ALL) - 1


@pytest.mark.parametrize("compiler", [pytest.param("g++", marks=pytest.mark.smoke), "clang++-16", "clang++-14"])
def test_compilers_that_have_all_levels(scaffold, compiler):
    need(compiler)
    scaffold.setup("-Dwerror=true", "-Dwarning_level=3", CXX=compiler)
    scaffold.ninja()
    assert set(verdicts(scaffold).values()) == {"built"}
    dropped = {level["name"]: level["dropped"] for level in matrix(scaffold)["levels"]}
    assert bool(dropped["AVX2"]) == compiler.startswith("clang")


@pytest.mark.parametrize(
    "options",
    [["-Db_lto=true"], ["--unity=on"], ["-Ddefault_library=static"]],
)
def test_options_that_change_how_everything_is_compiled(new_project, options):
    project = new_project("mixed")
    project.setup(FEW, *options)
    project.ninja()
    assert project.run(project.path("mixed")).stdout.startswith("70 700 1001 ")


def test_sources_that_a_unity_build_compiles_with_the_dispatch_source_keep_their_flags(new_project):
    project = new_project("leak")
    project.setup("-Disa_levels=none", "--unity=on")
    project.ninja()
    assert project.run(project.path("leak")).stdout


@pytest.mark.parametrize("lto", ["true", "false"])
def test_the_build_says_that_kernels_are_kept_out_of_lto(new_project, lto):
    need("qemu-x86_64")
    project = new_project("leak")
    said = project.setup(f"-Db_lto={lto}", "-Disa_levels=AVX2")
    said += project.isagen("matrix", project.build).stdout
    assert len(re.findall(rf"lto *: {WITHOUT_LTO}", said)) == (2 if lto == "true" else 0)
    assert matrix(project)["lto"] == (lto == "true")
    project.ninja()
    said = project.run("qemu-x86_64", "-cpu", "Haswell-v4", project.path("leak")).stdout
    assert said.splitlines()[-1].split() == ["128", "256", "41", "2", "3", "256", "3"]


def test_flto_in_the_environment_does_not_reach_the_kernels(new_project):
    project = new_project("mixed")
    assert WITHOUT_LTO in project.setup(FEW, CFLAGS="-flto", CXXFLAGS="-flto")
    project.ninja()
    assert project.run(project.path("mixed")).stdout.startswith("70 700 1001 ")


def test_a_distribution_s_meson_on_another_python_finds_isagen_on_the_path(scaffold):
    need("/usr/bin/meson")
    scaffold.run("/usr/bin/meson", "setup", scaffold.build)
    scaffold.ninja()
    assert set(verdicts(scaffold).values()) == {"built"}


def test_another_architecture_gets_its_own_table(new_project):
    need("aarch64-linux-gnu-g++", "qemu-aarch64")
    project = new_project("leak")
    cross = project.folder / "cross.ini"
    cross.write_text(
        "[binaries]\nc = 'aarch64-linux-gnu-gcc'\ncpp = 'aarch64-linux-gnu-g++'\n"
        "exe_wrapper = ['qemu-aarch64', '-L', '/usr/aarch64-linux-gnu']\n"
        "[host_machine]\nsystem = 'linux'\ncpu_family = 'aarch64'\ncpu = 'aarch64'\nendian = 'little'\n"
    )
    said = project.setup("--cross-file", str(cross))
    assert re.search(r"table +: arm64", said)
    project.ninja()
    done = project.run("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", project.path("leak"))
    assert done.stdout.split()[:2] == ["128", "128"]
    project.edit("isagen/isa.toml", 'levels = ["all"]', 'levels = ["AVX512"]')  # of another architecture: no error
    project.setup("--reconfigure", "-Disa_levels=-AMX")
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "x86"')
    said = project.run("meson", "setup", "other", "--cross-file", str(cross)).stdout
    assert "levels     : only DEFAULT: table x86 is for x86_64, and this build is for aarch64" in said


def test_c_kernels_first_and_cpp_kernels_that_throw(new_project):
    """Linked as C++ although the project and the first kernel are C: the C++ run-time library must be there."""
    project = new_project("mixed")
    project.edit("meson.build", "project('mixed', 'c', 'cpp'", "project('mixed', 'c'")
    project.edit("meson.build", "'main.c', 'caller.cpp'", "'main.c', 'caller.c'")
    (project.folder / "caller.cpp").unlink()
    (project.folder / "caller.c").write_text("int called_from_cpp(void);\nint called_from_cpp(void) { return 20; }\n")
    project.edit("offset.cc", "  *result =", '  if (value < 0)\n    throw std::runtime_error("negative");\n  *result =')
    project.edit("offset.cc", "namespace {", "#include <stdexcept>\nnamespace {")
    project.setup(FEW)
    project.ninja()
    assert project.run(project.path("mixed")).stdout.startswith("70 700 1001 ")


@pytest.mark.parametrize(
    ("version", "linker", "called"),
    [("14", "ld.lld-14", "ld"), ("16", "ld.lld-16", "ld"), ("16", "ld.bfd", "ld"), ("16", "ld.lld-16", "ld.lld")],
)
def test_sealing_needs_no_tool(new_project, tmp_path, version, linker, called):
    """Only Clang, an archiver and one linker can be found; GNU's and LLVM's objcopy cannot."""
    tools = {
        "clang": f"clang-{version}",
        "clang++": f"clang++-{version}",
        "llvm-ar": f"llvm-ar-{version}",
        "rm": "rm",  # Meson calls it before the archiver
        "meson": "meson",
        "ninja": "ninja",
        called: linker,
    }
    need("qemu-x86_64", *tools.values())
    project = new_project("leak")
    folder = tmp_path / "tools"
    folder.mkdir()
    for name, program in tools.items():
        (folder / name).symlink_to(shutil.which(program, path=project.environment["PATH"]))
    environment = {"PATH": str(folder), "CC": "clang", "CXX": "clang++"}
    if called != "ld":
        environment["CXX_LD"] = called.removeprefix("ld.")
    said = project.setup("-Disa_levels=AVX2,AVX512", **environment)
    assert re.search("sealed +: yes", said)
    assert re.search("audited +: when linked", said)
    project.run("ninja", "-C", project.build, **environment)
    for cpu, width in (("Nehalem", "128"), ("Haswell-v4", "256")):
        said = project.run(shutil.which("qemu-x86_64"), "-cpu", cpu, project.path("leak")).stdout
        assert said.splitlines()[-1].split() == ["128", width, "41", "2", "3", width, "3"]


def test_a_linker_that_is_installed_later_is_audited_too(scaffold, tmp_path):
    """The places of linkers are kept with the verdicts."""
    need("ld.lld", "gcc")
    tools = tmp_path / "tools"
    tools.mkdir()
    hidden = {"ld.lld", "ld.mold", "ld.gold"}
    for place in reversed(scaffold.environment["PATH"].split(":")):
        for path in Path(place).iterdir() if Path(place).is_dir() else ():
            if path.name not in hidden and not path.name.startswith("ld.lld-"):
                (tools / path.name).unlink(missing_ok=True)
                (tools / path.name).symlink_to(path)
    scaffold.environment["PATH"] = str(tools)
    scaffold.environment["XDG_CACHE_HOME"] = str(tmp_path / "cache")

    def linkers(build):
        scaffold.run("meson", "setup", build, CC="gcc", CXX="g++")
        return {path.name for path in (scaffold.folder / build / "isagen/isa_tool/audit_error").iterdir()}

    before = linkers("first")
    (tools / "ld.lld").symlink_to(shutil.which("ld.lld"))
    assert linkers("second") - before == {"ld.lld"}
