"""Sealing: no level's code is borrowed by another object, and shared data stays shared."""

import re

import pytest
from conftest import need

from isagen.steps.objects import defined_symbols

LEVELS = ["DEFAULT", "AVX2", "AVX512"]


def build(new_project, *arguments, **environment):
    project = new_project("leak")
    project.setup(*arguments, **environment)
    project.ninja()
    return project


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
def test_sealed_objects_define_no_weak_function(new_project, compiler):
    need(compiler)
    project = build(new_project, CXX=compiler)
    for level in LEVELS:
        symbols = list(defined_symbols(project.path(f"isagen/isa_{level}.o")))
        assert not [s for s in symbols if s.kind == "FUNC" and s.binding == "WEAK"]
        assert f"isa_kernel_{level}__probe_stub" in {s.name for s in symbols}
        shared = {s.name for s in symbols if s.kind == "OBJECT" and s.binding == "WEAK"}
        assert "shared_counter" in shared
    unsealed = next(project.path("isagen").glob("libisa_AVX2.a.p/*.o"))
    assert [s for s in defined_symbols(unsealed) if s.kind == "FUNC" and s.binding == "WEAK"]


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
@pytest.mark.parametrize("linker", ["bfd", "gold", "lld", "mold"])
def test_every_level_runs_its_own_code_and_shares_data(new_project, compiler, linker):
    need(compiler, {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}[linker])
    project = build(new_project, CXX=compiler, CXX_LD=linker)
    width = {"DEFAULT": "128", "AVX2": "256", "AVX512": "512"}
    for level in LEVELS:
        said = project.run(project.path("leak"), PROJECT_ISA=level).stdout
        if "warning" in said:
            continue  # this CPU lacks the level
        assert said.split() == ["128", width[level], "41", "2", "3"]


def test_a_cpu_without_any_higher_level_runs_the_sealed_program(new_project):
    need("qemu-x86_64")
    project = build(new_project)
    said = project.run("qemu-x86_64", "-cpu", "Nehalem", project.path("leak")).stdout
    assert said.split() == ["128", "128", "41", "2", "3"]
    said = project.run("qemu-x86_64", "-cpu", "Haswell-v4", project.path("leak")).stdout
    assert said.splitlines()[-1].split() == ["128", "256", "41", "2", "3"]


def test_unsealed_kernels_borrow_each_other_s_code(new_project):
    """The reason for sealing: the same project unsealed, with the same result asked of every level."""
    project = build(new_project, "-Disa_seal=false")
    widths = [project.run(project.path("leak"), PROJECT_ISA=level).stdout.split()[-4] for level in ("DEFAULT", "AVX2")]
    assert widths[0] == widths[1]


def test_the_matrix_says_why_it_is_not_sealed(new_project):
    project = build(new_project, "-Disa_seal=false")
    assert "sealed: no, switched off by the Meson option isa_seal" in project.isagen("matrix", "build").stdout


def test_a_stub_registered_twice_is_a_build_error(new_project):
    project = new_project("leak")
    (project.folder / "again.cpp").write_text((project.folder / "kernel.cpp").read_text())
    project.edit("meson.build", "files('kernel.cpp')", "files('kernel.cpp', 'again.cpp')")
    project.setup()
    said = project.ninja(check=False)
    assert re.search(r"probe_stub: is registered twice at [A-Z0-9_]+: by kernel\.cpp and by again\.cpp", said)


def test_a_stub_without_a_kernel_at_the_lowest_level_is_a_build_error(new_project):
    project = new_project("leak")
    project.edit("kernel.cpp", "ISA_REGISTER", "#ifdef CPU_CAPABILITY_AVX2\nISA_REGISTER")
    with (project.folder / "kernel.cpp").open("a") as stream:
        stream.write("#endif\n")
    project.setup()
    said = project.ninja(check=False)
    assert "probe_stub: kernel.cpp registers it at AVX2, AVX2_VNNI, but no kernel does at DEFAULT" in said


def test_a_stub_that_no_kernel_registers_is_a_link_error(new_project):
    project = new_project("leak")
    project.edit("leak.h", "ISA_DECLARE_DISPATCH(", "ISA_DECLARE_DISPATCH(probe_fn, lost_stub)\nISA_DECLARE_DISPATCH(")
    project.edit("main.cpp", "ISA_DEFINE", "ISA_DEFINE_DISPATCH(lost_stub)\nISA_DEFINE")
    project.setup()
    assert "isa_unregistered_lost_stub" in project.ninja(check=False)


def test_registering_in_an_ordinary_source_is_a_compile_error(new_project):
    project = new_project("leak")
    with (project.folder / "main.cpp").open("a") as stream:
        stream.write("ISA_REGISTER_DISPATCH(probe_stub, nullptr)\n")
    project.setup()
    assert "belongs in a source that isagen compiles per level" in project.ninja(check=False)


def test_a_stub_missing_at_a_level_that_its_kernel_is_compiled_for_is_a_build_error(new_project):
    project = new_project("leak")
    project.edit("kernel.cpp", "ISA_REGISTER", "#ifndef CPU_CAPABILITY_AVX512\nISA_REGISTER")
    with (project.folder / "kernel.cpp").open("a") as stream:
        stream.write("#endif\n")
    project.setup()
    said = project.ninja(check=False)
    assert "probe_stub: kernel.cpp registers it at DEFAULT, AVX2, AVX2_VNNI, but not at AVX512" in said
    assert "ISA_REGISTER_NO_DISPATCH(probe_stub)" in said
    project.edit("kernel.cpp", "#endif", "#else\nISA_REGISTER_NO_DISPATCH(probe_stub)\n#endif")
    project.ninja()
    widths = [project.run(project.path("leak"), PROJECT_ISA=level).stdout.split()[-4] for level in ("AVX2", "AVX512")]
    assert widths[0] == widths[1]
