"""Platforms and compilers that isagen does not know: the baseline is built, every output says why, and programs run."""

import json
import re
import shutil
import sys

import pytest

from support.platforms import PLATFORMS, imposter
from support.projects import Project, make_project, matrix, need, verdicts
from support.what_ran import SYSTEMS

STUBS = ["dot_stub", "scale_stub", "wide_dot_stub"]
SAID = f"14 200 30 DEFAULT, in use: DEFAULT, built: DEFAULT, 3 stubs: {' '.join(f'{one}=DEFAULT' for one in STUBS)}\n"
# What NVIDIA's compiler says of its version, and options of GCC and Clang that it refuses here.
NVIDIA = (
    "nvc 23.1-0 64-bit target on x86-64 Linux -tp zen3\nNVIDIA Compilers and Tools",
    "-m*|-iquote*|-fno-*|-dM|-Werror*|-print-*",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The project, built for each platform once; the summary is its `last`."""
    found: dict[str, Project] = {}

    def build(name: str) -> Project:
        platform = PLATFORMS[name]
        platform.require()
        if name not in found:
            folder = tmp_path_factory.mktemp(name)
            project = make_project(folder, "portable")
            options = ["-Dwerror=true", "-Dwarning_level=3", "--cross-file", str(platform.cross_file(folder))]
            project.last = project.setup(*options)
            project.ninja()
            found[name] = project
        return found[name]

    return build


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_baseline_is_built_and_the_summary_says_why(built, cell, name):
    cell(SYSTEMS, name, "built", "linked")
    project, platform = built(name), PLATFORMS[name]
    lines = re.findall(r"levels +: (.*)", project.last)
    assert lines == [f"only DEFAULT: {platform.reason}"]
    assert project.last.count(platform.reason) == 1
    assert re.search(r"DEFAULT +: 2 of 2 kernels", project.last)
    assert not re.search(r"AVX2 +:", project.last)
    assert re.search(r"audited +: not when linked: (?!.*isagen audit)", project.last)
    assert project.path(platform.program).is_file()


@pytest.mark.parametrize("name", [name for name, platform in PLATFORMS.items() if platform.runner is not None])
def test_its_program_runs_with_all_stubs_set(built, cell, name):
    platform = PLATFORMS[name]
    cell(SYSTEMS, name, "run", platform.how)
    project = built(name)
    done = project.run(*platform.runner, project.path(platform.program), PORTABLE_ISA="default")
    assert done.stdout.endswith(SAID)


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_matrix_and_why_say_the_same_reason(built, name):
    project, reason = built(name), PLATFORMS[name].reason
    found = matrix(project)
    assert found["baseline_only"] == reason
    assert {one["verdict"] for one in found["levels"][1:]} <= {"unavailable"}
    assert {one["reason"] for one in found["levels"][1:]} <= {reason}
    assert sorted(stub for kernel in found["kernels"] for stub in kernel["levels"]["DEFAULT"]["stubs"]) == STUBS
    shown = " ".join(project.isagen("matrix", project.build).stdout.split())  # whatever the terminal's width
    assert f" levels: only DEFAULT: {reason} " in shown
    assert f"<dd>only DEFAULT: {reason}</dd>" in project.isagen("matrix", project.build, "--format", "html").stdout
    if PLATFORMS[name].cpu_family == "x86_64":
        assert project.isagen("why", "avx2", project.build).stdout == f"AVX2 is unavailable: {reason}\n"


@pytest.mark.parametrize("name", PLATFORMS)
def test_an_audit_of_the_build_folder_says_what_it_cannot_read(built, name):
    project, platform = built(name), PLATFORMS[name]
    done = project.isagen("audit", project.build, check=False)
    if name == "made-up":  # whose files are ELF after all
        assert (done.returncode, "  nothing found" in done.stdout.splitlines()) == (0, True)
    else:
        assert done.returncode == (0 if name in ("arm", "i386") else 2)  # files for other processors are `skip`
        assert "build it first" not in done.stdout
        assert {"arm": "code for Arm (32-bit) is not decoded", "i386": "code for x86 (32-bit) is not decoded"}.get(
            name, platform.reason
        ) in done.stdout


@pytest.mark.parametrize("table", ["default", "x86"])
def test_an_argument_that_chooses_32_bits(new_project, table):
    """Meson takes the program for x86-64; with the table x86, levels failed one by one."""
    PLATFORMS["i386"].require()
    project = new_project("portable")
    project.edit("isagen/isa.toml", 'table = "default"', f'table = "{table}"')
    options = [f"-D{language}_{words}=-m32" for language in ("c", "cpp") for words in ("args", "link_args")]
    reason = {
        "default": "isagen has no levels for 32-bit x86",
        "x86": "table x86 is for x86_64, and this build is for x86",
    }[table]
    assert re.findall(r"levels +: (.*)", project.setup(*options)) == [f"only DEFAULT: {reason}"]
    project.ninja()
    assert project.run(project.path("portable"), PORTABLE_ISA="default").stdout == SAID


def test_a_missing_kernel_and_a_missing_stub_do_not_link(built):
    project = built("wasm32")
    for file, old, new, said in (
        ("kernels/dot.cpp", "ISA_REGISTER_DISPATCH(wide_dot_stub, &dot)", "", "isa_needs_isa_kernels_dep_"),
        ("early.cpp", "ISA_DEFINE_DISPATCH(wide_dot_stub)", "long wide;", "isa_needs_one_ISA_DEFINE_DISPATCH_for_"),
    ):
        text = (project.folder / file).read_text()
        project.edit(file, old, new)
        failed = project.ninja(check=False)
        assert re.search(rf"undefined (reference|symbol).*{said}\w*wide_dot_stub", failed)
        (project.folder / file).write_text(text)
    project.ninja()


def test_what_kernels_say_of_stubs_is_found_in_objects_that_are_not_read(built):
    project = built("wasm32")
    text = (project.folder / "kernels/scale.c").read_text()
    with (project.folder / "kernels/scale.c").open("a") as file:
        file.write("ISA_REGISTER_DISPATCH(dot_stub, (dot_fn)0)\n")
    failed = project.ninja(check=False)
    assert "dot_stub: is registered twice at DEFAULT: by kernels/dot.cpp and by kernels/scale.c" in failed
    (project.folder / "kernels/scale.c").write_text(f"{text}ISA_REGISTER_NO_DISPATCH(dot_stub)\n")
    project.ninja()
    noted = json.loads(project.path("isagen/isa_DEFAULT.json").read_text())["kernels"]["kernels/scale.c"]
    assert noted == {"registers": ["scale_stub"], "without": ["dot_stub"], "code": None, "folded": ""}
    (project.folder / "kernels/scale.c").write_text(text)
    project.ninja()


def test_arguments_that_the_compiler_of_another_architecture_refuses(built):
    project = built("arm")
    with (project.folder / "isagen/isa.toml").open("a") as file:
        file.write(
            '[kernels."kernels/dot.cpp"]\nargs = ["-mprefer-vector-width=256", "--param", "max-gcse-memory=9"]\n'
        )
    said = project.setup("--reconfigure")
    assert re.search(r"isa\.toml: kernels\.'kernels/dot\.cpp'\.args: -mprefer-vector-width=256 is left out: GCC", said)
    (cell,) = [one["levels"]["DEFAULT"] for one in matrix(project)["kernels"] if one["source"] == "kernels/dot.cpp"]
    assert cell["flags"][-2:] == ["--param", "max-gcse-memory=9"]
    project.ninja()


@pytest.mark.parametrize(("name", "is_it"), [("made-up", "it is unavailable: "), ("arm", "")])
def test_a_required_level_of_a_platform_without_it(built, name, is_it):
    project, platform = built(name), PLATFORMS[name]
    cross = platform.cross_file(project.folder.parent)
    failed = project.run("meson", "setup", "other", "--cross-file", cross, "-Disa_require=avx2", check=False)
    assert failed.returncode != 0
    expected = f"isagen: Meson option isa_require: AVX2 is required, but not built: {is_it}{platform.reason}"
    assert expected in failed.stdout


@pytest.mark.parametrize(
    ("as_gnu", "audited"),
    [("", "nothing found"), (" -U__GNUC__", "nothing here can be audited\n  {}")],
    ids=["as GNU C", "without extensions"],
)
def test_a_compiler_that_isagen_does_not_know(new_project, tmp_path, as_gnu, audited):
    """It refuses all options but those that every compiler has, and lists no macros."""
    project = new_project("portable")
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "x86-64"')
    c = imposter(tmp_path, "nvc", f"gcc{as_gnu}", *NVIDIA)
    cpp = imposter(tmp_path, "nvc++", f"g++{as_gnu}", *NVIDIA)
    summary = project.setup("-Dc_std=c99", CC=str(c), CXX=str(cpp))
    shown = "nvidia_hpc 23.1-0"
    reason = f"isagen does not know the compiler {shown}, nor its baseline, as it does not list its macros (-dM -E)"
    assert re.findall(r"levels +: (.*)", summary) == [f"only X86_64: {reason}"]
    project.ninja()
    assert project.run(project.path("portable")).stdout == SAID.replace("DEFAULT", "X86_64")
    assert project.isagen("why", "x86_64_v3", project.build).stdout == f"X86_64_V3 is unavailable: {reason}\n"
    assert audited.format(reason) in project.isagen("audit", project.build, check=False).stdout
    doctor = project.run("isagen", "doctor", CC=str(c), CXX=str(cpp), check=False).stdout
    assert re.search(r"ok +C compiler: nvc .*; only the baseline is built: isagen does not know .* nvc, nor", doctor)


def test_a_compiler_of_another_name_that_is_a_clang(new_project, tmp_path):
    need("clang-16", "clang++-16")
    project = new_project("portable")
    said = "Intel(R) oneAPI DPC++/C++ Compiler 2023.0.0 (2023.0.0.20221201)"
    c, cpp = (imposter(tmp_path, name, f"clang{end}-16", said, "--none") for name, end in (("icx", ""), ("icpx", "++")))
    project.edit("isagen/isa.toml", 'table = "default"', 'table = "aten"')
    summary = project.setup("-Disa_levels=AVX2", "-Disa_require=AVX2", CC=str(c), CXX=str(cpp))
    assert "intel-llvm" in summary
    assert "levels" not in re.findall(r"^    (\w+) +:", summary, re.MULTILINE)
    project.ninja()
    assert verdicts(project)["AVX2"] == "built"


def test_levels_that_are_required(new_project):
    need("g++-11")
    project = new_project("portable")
    for options, said in (
        (["-Disa_require=avx512_fp16"], r"AVX512_FP16 is required, but not built: .*GCC 11\S* is older than 12\.1"),
        (["-Disa_require=avx2", "-Disa_levels=-AVX2"], "AVX2 is required, but not built: it is disabled by the Meson"),
        (["-Disa_require=avx3"], "Meson option isa_require: unknown level 'avx3'"),
        (["-Disa_require=AVX2, amx"], None),
    ):
        said_all = project.setup("-Disa_audit=off", *options, check=False, CC="gcc-11", CXX="g++-11")
        assert ("ERROR" in said_all) == (said is not None)
        assert re.search(said or "AVX2 +: 2 of 2 kernels", said_all)
        shutil.rmtree(project.folder / project.build)


def test_a_whole_module_is_built_once(new_project, tmp_path):
    """There is no front, because what the private modules of levels need is not known."""
    project = new_project("raw_modules")
    need("gcc")
    project.setup("-Dc_std=c99", CC=str(imposter(tmp_path, "nvc", "gcc", *NVIDIA)))
    project.ninja()
    built = sorted(path.name.partition(".")[0] for path in project.path("isagen/module").glob("*.so"))
    assert built == ["phased", "single"]
    done = project.run(
        sys.executable, "-c", "import phased, single; print(single.__name__)", PYTHONPATH="build/isagen/module"
    )
    assert done.stdout == "single\n"


@pytest.mark.parametrize("name", ["wasm32", "made-up"])
def test_reductions_are_built_without_an_edit(new_project, name):
    """The package that has a Python front elsewhere: its kernels and its check, also with 32 bits."""
    platform = PLATFORMS[name]
    platform.require()
    project = new_project("reductions")
    project.setup("--cross-file", str(platform.cross_file(project.folder)))
    project.ninja()
    if platform.runner is not None:
        program = project.path(platform.program.replace("portable", "check"))
        done = project.run(*platform.runner, program)
        assert done.stdout.endswith("DEFAULT right\n")
