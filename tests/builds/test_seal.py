"""Sealing: no other object binds to a level's code, and shared data stays shared."""

import re

import pytest

from isagen.binary.contents import Binding, SymbolKind
from isagen.binary.elf.objects import ElfObject
from isagen.model.names import name_in_source
from support.levels import supported_levels
from support.pairs import paired
from support.prepared import FEW
from support.projects import UNSEALED, need

LEVELS = ["DEFAULT", "AVX2", "AVX512"]


def build(new_project, *arguments, **environment):
    project = new_project("leak")
    project.setup(*arguments, **environment)
    project.ninja()
    return project


@pytest.mark.parametrize("compiler", [pytest.param("g++", marks=pytest.mark.smoke), "clang++-16"])
def test_what_a_sealed_object_offers_to_others(prepared, compiler):
    need(compiler)
    project = prepared("leak", FEW, CXX=compiler)
    code = []
    for level in LEVELS:
        file = ElfObject.load(project.path(f"isagen/isa_{level}.kernel.cpp.o"))
        symbols = [s for s in file.symbols if s.definition]
        assert f"isa_kernel_{level}__probe_stub" in {s.name for s in symbols}
        private = [s for s in symbols if re.search(rf"\.{level.lower()}\.\d+\Z", s.name)]
        assert all(s.hidden and file.is_constant(s) for s in private)
        assert {"threes", "_ZTV5shapeIiE", "_Z18width_of_this_codeIiEiT_"} <= {name_in_source(s.name) for s in private}
        assert [s.name for s in symbols if s.kind == SymbolKind.FUNCTION and s not in private] == []
        shared = {s.name for s in symbols if s.binding == Binding.WEAK and s not in private}
        assert {"shared_counter", "_ZTI5shapeIiE", "_ZTS5shapeIiE"} <= shared
        code += [s.name for s in private]
    assert len(code) == len(set(code))
    unsealed = ElfObject.load(next(project.path("isagen").glob("libisa_AVX2.a.p/*.o")))
    assert "_Z18width_of_this_codeIiEiT_" in {s.name for s in unsealed.symbols}


@pytest.mark.parametrize(("compiler", "linker"), paired(["g++", "clang++-16"], ["bfd", "gold", "lld", "mold"]))
def test_every_level_runs_its_own_code_and_shares_data(prepared, compiler, linker):
    need(compiler, {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}[linker])
    project = prepared("leak", FEW, CXX=compiler, CXX_LD=linker)
    width = {"DEFAULT": "128", "AVX2": "256", "AVX512": "512"}
    for level in LEVELS:
        said = project.run(project.path("leak"), LEAK_ISA=level).stdout
        assert ("warning" in said) == (level not in supported_levels())
        if "warning" in said:
            continue  # this CPU lacks the level
        assert said.split() == ["128", width[level], "41", "2", "3", width[level], "3"]


@pytest.mark.smoke
def test_a_cpu_without_any_higher_level_runs_the_sealed_program(prepared):
    need("qemu-x86_64")
    project = prepared("leak", FEW)
    said = project.run("qemu-x86_64", "-cpu", "Nehalem", project.path("leak")).stdout
    assert said.split() == ["128", "128", "41", "2", "3", "128", "3"]
    said = project.run("qemu-x86_64", "-cpu", "Haswell-v4", project.path("leak")).stdout
    assert said.splitlines()[-1].split() == ["128", "256", "41", "2", "3", "256", "3"]


def test_unsealed_kernels_borrow_each_other_s_code(prepared):
    """The reason for sealing: the same project unsealed; all levels compute the same."""
    project = prepared("leak", FEW, *UNSEALED)
    widths = [project.run(project.path("leak"), LEAK_ISA=level).stdout.split()[-6] for level in ("DEFAULT", "AVX2")]
    assert widths[0] == widths[1]


def test_the_matrix_says_why_it_is_not_sealed(prepared):
    project = prepared("leak", FEW, *UNSEALED)
    assert "sealed: no, switched off by the Meson option isa_seal" in project.isagen("matrix", "build").stdout


@pytest.mark.smoke
def test_a_stub_registered_twice_is_a_build_error(prepared):
    project = prepared("leak", FEW)
    (project.folder / "again.cpp").write_text((project.folder / "kernel.cpp").read_text())
    project.edit("meson.build", "files('kernel.cpp')", "files('kernel.cpp', 'again.cpp')")
    said = project.ninja(check=False)
    assert re.search(r"probe_stub: is registered twice at [A-Z0-9_]+: by kernel\.cpp and by again\.cpp", said)


@pytest.mark.smoke
def test_a_stub_without_a_kernel_at_the_lowest_level_is_a_build_error(prepared):
    project = prepared("leak")
    project.edit("kernel.cpp", "ISA_REGISTER", "#ifdef CPU_CAPABILITY_AVX2\nISA_REGISTER")
    with (project.folder / "kernel.cpp").open("a") as stream:
        stream.write("#endif\n")
    said = project.ninja(check=False)
    assert "probe_stub: kernel.cpp registers it at AVX2, AVX2_VNNI, but no kernel does at DEFAULT" in said


@pytest.mark.smoke
def test_a_stub_that_no_kernel_registers_is_a_link_error(prepared):
    project = prepared("leak", FEW)
    project.edit("leak.h", "ISA_DECLARE_DISPATCH(", "ISA_DECLARE_DISPATCH(probe_fn, lost_stub)\nISA_DECLARE_DISPATCH(")
    project.edit("main.cpp", "ISA_DEFINE", "ISA_DEFINE_DISPATCH(lost_stub)\nISA_DEFINE")
    assert "isa_needs_isa_kernels_dep_and_ISA_REGISTER_DISPATCH_for_lost_stub" in project.ninja(check=False)


@pytest.mark.smoke
def test_registering_in_an_ordinary_source_is_a_compile_error(prepared):
    project = prepared("leak", FEW)
    with (project.folder / "main.cpp").open("a") as stream:
        stream.write("ISA_REGISTER_DISPATCH(probe_stub, nullptr)\n")
    assert "belongs in a source that isagen compiles per level" in project.ninja(check=False)


def test_a_stub_missing_at_a_level_that_its_kernel_is_compiled_for_is_a_build_error(prepared):
    project = prepared("leak")
    project.edit("kernel.cpp", "ISA_REGISTER", "#ifndef CPU_CAPABILITY_AVX512\nISA_REGISTER")
    with (project.folder / "kernel.cpp").open("a") as stream:
        stream.write("#endif\n")
    said = project.ninja(check=False)
    assert "probe_stub: kernel.cpp registers it at DEFAULT, AVX2, AVX2_VNNI, but not at AVX512" in said
    assert "ISA_REGISTER_NO_DISPATCH(probe_stub)" in said
    project.edit("kernel.cpp", "#endif", "#else\nISA_REGISTER_NO_DISPATCH(probe_stub)\n#endif")
    project.ninja()
    widths = [project.run(project.path("leak"), LEAK_ISA=level).stdout.split()[-6] for level in ("AVX2", "AVX512")]
    assert widths[0] == widths[1]


def test_levels_that_require_different_things_do_not_share_code_either(new_project):
    """A vtable of AVX2_VNNI and AVX512 alone: the lower rank is not safe for both."""
    project = new_project("leak")
    project.edit(
        "leak.h",
        "int width_of_this_code(T value)\n{\n",
        "int width_of_this_code(T value)\n{\n#ifdef __AVXVNNI__\n  return 257;\n#endif\n",
    )
    project.setup("-Disa_levels=AVX2_VNNI,AVX512")
    project.ninja()
    for level, width in (("AVX2_VNNI", "257"), ("AVX512", "512")):
        said = project.run(project.path("leak"), LEAK_ISA=level).stdout
        assert ("warning" in said) == (level not in supported_levels())
        if "warning" not in said:
            assert said.split()[5] == width


@pytest.mark.smoke
def test_shared_data_of_different_sizes_is_a_build_error(prepared):
    project = prepared("leak", FEW)
    project.edit("leak.h", "inline const lanes threes", "inline lanes threes")
    said = project.ninja(check=False)
    assert "threes: all levels share this variable, but its initial value is" in said
    assert "(16 bytes) at DEFAULT and" in said
    assert "(32 bytes) at AVX2" in said


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        ("g++", "-Wold-style-cast"),
        ("clang++-16", "-Wall -Wextra -Wpedantic -Wshadow -Wmissing-declarations -Werror"),
    ],
)
def test_the_project_s_warnings_are_not_about_probes_and_seals(new_project, compiler, flags):
    need(compiler)
    project = new_project("leak")
    said = project.setup("-Dbuildtype=plain", CXX=compiler, CXXFLAGS=flags)
    project.ninja()
    assert "unavailable" not in said
    assert "sealed     : yes" in said


@pytest.mark.smoke
@pytest.mark.parametrize("how", ["isa.toml", "add_project_arguments", "isa_dependencies"])
def test_instructions_that_nobody_checks_do_not_compile(prepared, how):
    project = prepared("leak", FEW)
    if how == "isa.toml":
        project.edit("isagen/isa.toml", "# [kernels", '[kernels."kernel.cpp"]\nargs = ["-mavx2"]\n# [')
    elif how == "add_project_arguments":
        project.edit("meson.build", "isa_kernels =", "add_project_arguments('-mavx2', language: 'cpp')\nisa_kernels =")
    else:
        dependency = "isa_dependencies = [declare_dependency(compile_args: '-mavx2')]\n"
        project.edit("meson.build", "subdir", f"{dependency}subdir")
    assert "avx2 is on, but not checked for DEFAULT" in project.ninja(check=False)


def test_libraries_of_kernels_are_linked_and_their_arguments_are_of_kernels_alone(prepared):
    project = prepared("leak", FEW)
    (project.folder / "third.cpp").write_text("int third(int n) { return n / 3; }\n")
    third = "declare_dependency(link_with: static_library('third', 'third.cpp'), compile_args: '-DTHIRD')"
    project.edit("meson.build", "subdir", f"isa_dependencies = {third}\nsubdir")
    project.edit("kernel.cpp", "namespace {", "#ifndef THIRD\n#error\n#endif\nint third(int);\n\nnamespace {")
    project.edit("kernel.cpp", "int sum = 0;", "int sum = third(0);")
    main = project.folder / "main.cpp"
    main.write_text(f"#ifdef THIRD\n#error\n#endif\n{main.read_text()}")
    project.ninja()


def test_instructions_in_cxxflags_are_checked_at_every_level(new_project):
    need("qemu-x86_64")
    project = build(new_project, FEW, CXXFLAGS="-msha")
    said = project.run("qemu-x86_64", "-cpu", "Nehalem", project.path("leak"), check=False).stdout
    assert "error: this program or library is compiled for features that CPU or OS lack: sha" in said


def test_a_registration_that_is_not_constant_does_not_compile(prepared):
    project = prepared("leak", FEW)
    project.edit(
        "kernel.cpp",
        "ISA_REGISTER_DISPATCH(probe_stub, &probe)",
        "probe_fn pick();\nISA_REGISTER_DISPATCH(probe_stub, pick())",
    )
    assert "error" in project.ninja(check=False)


def test_a_template_s_instance_is_registered(prepared):
    project = prepared("leak", FEW)
    project.edit("kernel.cpp", "answer probe(", "template <class A, class B> answer probe(")
    project.edit("kernel.cpp", "&probe)", "&probe<int, float>)")
    project.ninja()
