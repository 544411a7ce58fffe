"""The second fragment, isagen/audit: ninja audits the targets in isa_links where no script takes the linker's place."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import clang_cl
from support.platforms import MACOS, STATIC, WINDOWS, surroundings
from support.prepared import FEW
from support.projects import Project, make_project, matrix, need

ADD = 'asm volatile("vpaddd %ymm0, %ymm1, %ymm2");'
ADD_ON_ARM64 = 'asm volatile(".inst 0x2598e080");'  # ptrue p0.s
ON_LINUX = {"LDFLAGS": "-B/usr/libexec/mold"}
BY_TARGETS = "when linked, by isagen/audit, only targets in isa_links"
FAULT = re.compile(
    r"isagen audit: error: portable[.exe]*: .*\n"
    r"  code outside the levels uses instructions beyond the baseline \(1\)\n(.*\n)+?"
    r"  to build nevertheless: -Disa_audit=warn\n"
)


def listing(folder: Path, links: str = "[program]", more: str = "", package: str = "portable") -> Project:
    """A package that audits `links`, with more lines in its meson.build before."""
    project = make_project(folder, package)
    project.edit("meson.build", "executable(", "program = executable(")
    with (project.folder / "meson.build").open("a", encoding="utf-8") as stream:
        stream.write(f"{more}\nisa_links = {links}\nsubdir('isagen/audit')\n")
    assert "wrote    isagen/audit/meson.build" in project.isagen("init").stdout
    return project


def across(project: Project, platform, *options: str, check: bool = True) -> str:
    """Configure a project for another platform; return what Meson says."""
    platform.require()
    project.environment |= surroundings()
    static = STATIC if platform is WINDOWS["mingw"] else []
    cross = str(platform.cross_file(project.folder.parent))
    project.last = project.setup("--cross-file", cross, FEW, *static, *options, check=check)
    return project.last


def audits(steps: list[str]) -> int:
    """The number of steps that audit."""
    return sum("isagen/audit/isa_audit" in step for step in steps)


def plant(project: Project, instruction: str = ADD) -> None:
    """Put an instruction beyond the baseline into ordinary code."""
    project.edit("main.cpp", "int main()\n{", f"int main()\n{{\n  {instruction}")


def check_builds(project: Project, instruction: str = ADD) -> None:
    """A sound build passes, is not audited again, and fails with what is planted in ordinary code."""
    assert re.search(rf"audited +: {BY_TARGETS}\n", project.last)
    assert "isagen: warning" not in project.last
    assert audits(project.steps()) == 1
    assert project.steps() == []
    data = matrix(project)
    assert (data["audited"], f"when linked, {data['audit_reason']}") == (True, BY_TARGETS)
    main = project.folder / "main.cpp"
    text = main.read_text()
    plant(project, instruction)
    for _ in range(2):  # what failed is linked and audited again
        assert FAULT.search(project.ninja(check=False))
    assert not any((project.folder / "build" / name).exists() for name in ("portable", "portable.exe"))
    main.write_text(text)
    assert audits(project.steps()) == 1
    assert f"audited: yes, {BY_TARGETS}" in project.isagen("matrix", "build").stdout


@pytest.mark.parametrize("compiler", [pytest.param("mingw", marks=pytest.mark.smoke), "zig"])
def test_windows(tmp_path, compiler):
    project = listing(tmp_path)
    across(project, WINDOWS[compiler])
    check_builds(project)


def test_clang_cl(tmp_path):
    clang_cl.require(version := clang_cl.VERSIONS[-1])
    project = listing(tmp_path)
    project.environment |= surroundings()
    project.last = project.setup("--cross-file", str(clang_cl.prepare(project, tmp_path, version)), FEW)
    check_builds(project)


@pytest.mark.parametrize("family", MACOS)
def test_macos(tmp_path, family):
    need("clang-16")
    project = listing(tmp_path)
    across(project, MACOS[family])
    check_builds(project, ADD if family == "x86_64" else ADD_ON_ARM64)


def test_linux_with_a_linker_out_of_reach(tmp_path):
    need("mold")
    project = listing(tmp_path)
    project.last = project.setup(FEW, **ON_LINUX)
    check_builds(project)


def test_where_a_script_audits_links_the_step_does_too(tmp_path):
    """An option of a target may pass the script by."""
    project = listing(tmp_path)
    plant(project)
    said = project.setup(FEW, "-Disa_audit=warn")
    assert re.search(r"audited +: when linked, by a script in the linker's place, with warnings only\n", said)
    warning = "isagen audit: warning: portable: "
    assert project.ninja().count(warning) == 2
    project.edit("meson.build", "dependencies:", "link_args: '-B/usr/libexec/mold', dependencies:")
    need("mold")
    assert project.ninja().count(warning) == 1
    project.setup("--reconfigure", "-Disa_audit=error")
    assert FAULT.search(project.ninja(check=False))


def test_a_file_that_the_build_did_not_make_stays(tmp_path):
    project = listing(tmp_path)
    plant(project)
    project.setup(FEW, "-Disa_audit=warn")
    project.ninja()
    prebuilt = shutil.copy(project.path("portable"), project.folder / "prebuilt")
    project.edit("meson.build", "isa_links = [program]", "isa_links = files('prebuilt')")
    project.edit("main.cpp", f"\n  {ADD}", "")
    project.setup("--reconfigure", "-Disa_audit=error")
    assert "isagen audit: error: " in project.ninja(check=False)
    assert prebuilt.is_file()


def test_what_isa_audit_says(tmp_path):
    """`warn` reports; `off`, and a decoder that is missing, declare no step."""
    project = listing(tmp_path)
    plant(project)
    said = across(project, WINDOWS["mingw"], "-Disa_audit=warn")
    assert f"{BY_TARGETS}, with warnings only\n" in said
    said = project.ninja()
    assert re.search(r"isagen audit: warning: portable.exe: .*\n  code outside the levels uses", said)
    assert "to build nevertheless" not in said
    said = project.setup("--reconfigure", "-Disa_audit=off")
    assert re.search(
        r"audited +: not when linked: switched off by the Meson option isa_audit; run `isagen audit`", said
    )
    assert audits(project.steps()) == 0
    (tmp_path / "hidden/iced_x86").mkdir(parents=True)
    (tmp_path / "hidden/iced_x86/__init__.py").write_text("raise ImportError\n")
    project.environment["PYTHONPATH"] = str(tmp_path / "hidden")
    said = project.setup("--reconfigure", "-Disa_audit=error")
    assert re.search(r"audited +: not when linked: iced-x86 is not installed$", said, re.MULTILINE)
    assert audits(project.steps()) == 0


KINDS = """
both = both_libraries('both', 'early.cpp', dependencies: isa_kernels_dep)
versioned = shared_library('versioned', 'early.cpp', dependencies: isa_kernels_dep, version: '1.2')
plugin = shared_module('plugin', 'early.cpp', dependencies: isa_kernels_dep)
copied = custom_target('copied', input: plugin, output: ['copied.so', 'copied.txt'],
  command: [find_program('python3'), '-c', 'import sys, shutil; [shutil.copy(sys.argv[1], to) for to in sys.argv[2:]]',
    '@INPUT@', '@OUTPUT@'])
"""


def test_every_kind_of_target(tmp_path):
    """Libraries of both kinds, one with a version in its name, a module, and an output of a custom target."""
    need("mold")
    project = listing(tmp_path, "[program, both, versioned, [plugin, copied[0]]]", KINDS)
    assert "isagen: warning" not in project.setup(FEW, **ON_LINUX)
    project.ninja()
    for name in ("portable", "libboth.so", "libversioned.so.1.2", "libplugin.so"):
        project.path(name).touch()
        assert 1 <= audits(project.steps()) <= 2


def test_a_target_that_is_left_out_is_named(tmp_path):
    project = listing(tmp_path, "[]")
    warning = (
        "isagen: warning: meson.build: portable.exe links kernels, and isagen/audit does not audit it\n"
        "  add its target to isa_links, before subdir('isagen/audit'); of both_libraries(), add lib.get_shared_lib()\n"
    )
    assert warning in across(project, WINDOWS["mingw"])
    project.edit("meson.build", "isa_links = []\nsubdir('isagen/audit')\n", "")
    assert warning in project.setup("--reconfigure")


def test_static_libraries_among_the_inputs(tmp_path):
    """Their objects are judged as the target's own are, and what links kernels through one of them is named."""
    project = listing(tmp_path, "[kernels, program]")
    project.edit(
        "meson.build",
        "program = executable('portable', 'main.cpp', 'early.cpp', dependencies: isa_kernels_dep)",
        "kernels = static_library('kernels', 'early.cpp', dependencies: isa_kernels_dep)\n"
        "bits = static_library('bits', 'bits.cpp')\n"
        "outer = static_library('outer', objects: bits.extract_all_objects(recursive: false))\n"
        "program = executable('portable', 'main.cpp', link_with: [kernels, outer], dependencies: isa_headers_dep)",
    )
    (project.folder / "bits.cpp").write_text(f"int zeros(unsigned x) {{ {ADD} return x; }}\n")
    project.edit("main.cpp", "int main()\n{", "int zeros(unsigned);\nint main(int count, char **)\n{\n  zeros(count);")
    across(project, WINDOWS["mingw"])
    said = project.ninja(check=False)
    assert FAULT.search(said)
    assert re.search(r"zeros\(unsigned int\), in libbits.a.p/bits.cpp.obj\n.*\n +needs +avx", said)
    project.edit("meson.build", "isa_links = [kernels, program]", "isa_links = [kernels]")
    assert "portable.exe links kernels, and isagen/audit does not audit it\n" in project.setup("--reconfigure")


def test_a_static_library_that_is_prelinked_and_a_program_named_like_one(tmp_path):
    need("mold")
    project = listing(tmp_path, "[program]")
    project.edit(
        "meson.build",
        "program = executable('portable', 'main.cpp', 'early.cpp', dependencies: isa_kernels_dep)",
        "kernels = static_library('kernels', 'early.cpp', 'bits.cpp', prelink: true, "
        "dependencies: isa_kernels_dep)\n"
        "program = executable('portable', 'main.cpp', name_suffix: 'a', link_with: kernels, "
        "dependencies: isa_headers_dep)",
    )
    (project.folder / "bits.cpp").write_text(f"int zeros(unsigned x) {{ {ADD} return x; }}\n")
    assert "isagen: warning" not in project.setup(FEW, **ON_LINUX)
    said = project.ninja(check=False)
    assert re.search(r"error: portable.a: .*\n.*\n +zeros\(unsigned int\), in libkernels.a.p/bits.cpp.o\n", said)
    project.edit("meson.build", "isa_links = [program]", "isa_links = []")
    said = project.setup("--reconfigure", **ON_LINUX)
    assert "portable.a links kernels, and isagen/audit does not audit it\n" in said


def test_a_static_library_alone_is_reported_as_not_audited(tmp_path):
    """Meson's option default_both_libraries=static makes a listed both_libraries() the static one."""
    need("mold")
    project = listing(tmp_path, "[program]")
    project.edit("meson.build", "program = executable('portable', 'main.cpp',", "program = both_libraries('portable',")
    remedy = "for lib = both_libraries(), list lib.get_shared_lib()"
    project.setup(FEW, **ON_LINUX)
    assert remedy not in project.ninja()
    said = project.setup("--reconfigure", "-Ddefault_both_libraries=static", **ON_LINUX)
    assert "libportable.so links kernels, and isagen/audit does not audit it\n" in said
    said = project.ninja()
    assert "isagen audit: warning: libportable.a: is a static library, which is not audited by itself\n" in said
    assert remedy in said


def test_what_links_no_kernels_is_refused(tmp_path):
    copies = "{0} = configure_file(input: 'own.{1}', output: '{0}', copy: true)\n"
    more = f"{copies.format('copy', 'c')}{copies.format('part', 'o')}other = executable('other', 'own.c')"
    project = listing(tmp_path, "[copy, part, other, program]", more)
    (project.folder / "own.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["x86_64-w64-mingw32-gcc", "-c", "own.c"], cwd=project.folder, check=True)
    across(project, WINDOWS["mingw"])
    said = project.ninja(check=False)
    remedy = "isa_links takes executables, libraries and extension modules that link isa_kernels_dep"
    for problem in (
        "copy: is in isa_links, and is no linked file",
        "part: is in isa_links, and is an object, not a linked file",
        "other.exe: is in isa_links, and contains no record of isagen",
    ):
        assert f"isagen: error: {problem}\n  {remedy}\n" in said


def test_the_fragment_is_entered_too_early(tmp_path):
    project = listing(tmp_path)
    project.edit("meson.build", "isa_links = [program]\n", "")
    assert "isagen: isa_links is not set: write isa_links = [target, ...] and then" in project.setup(check=False)


def test_a_link_without_symbols(tmp_path):
    """PE files tell levels by sections, so they are audited; Mach-O files, which something strips later, do not."""
    need("llvm-strip-16")
    project = listing(tmp_path)
    text = (project.folder / "main.cpp").read_text()
    plant(project)
    across(project, WINDOWS["mingw"], "-Dcpp_link_args=-static -s")
    assert re.search(r"portable.exe: .*\n  code outside the levels .*\n    function at 0x", project.ninja(check=False))
    project.build = "macos"
    (project.folder / "main.cpp").write_text(text)
    across(project, MACOS["x86_64"])
    project.ninja()
    project.run("llvm-strip-16", "-x", project.path("portable"))
    assert "portable: the link left out the symbols that its audit needs" in project.ninja(check=False)


ALLOWED = '[[audit.allow]]\nsymbol = "harmless_*"\nreason = "no such function"\n'


def test_functions_without_names_that_may_be_allowed(tmp_path):
    project = listing(tmp_path)
    with (project.folder / "isagen/isa.toml").open("a", encoding="utf-8") as stream:
        stream.write(ALLOWED)
    across(project, WINDOWS["mingw"], "-Dcpp_link_args=-static -s")
    remedy = "strip when installing; lld-link writes no symbols: use -Disa_audit=warn, or no entry of [[audit.allow]]"
    assert (
        f"its audit needs\n  in the link arguments, remove the option that strips symbols; {remedy}"
        in project.ninja(check=False)
    )


@pytest.mark.parametrize("allowed", ["", ALLOWED])
def test_a_link_that_strips_is_an_error(tmp_path, allowed):
    """The audit would only count functions without names, some of which it cannot judge."""
    need("mold")
    project = listing(tmp_path)
    with (project.folder / "isagen/isa.toml").open("a", encoding="utf-8") as stream:
        stream.write(allowed)
    project.setup(FEW, "-Dcpp_link_args=-s", **ON_LINUX)
    said = project.ninja(check=False)
    assert (
        "portable: the link left out the symbols that its audit needs\n  in the link arguments, remove the option"
        in said
    )


def test_a_link_that_discards_the_record(tmp_path):
    project = listing(tmp_path)
    (project.folder / "discard.ld").write_text("SECTIONS { /DISCARD/ : { *(.note.*) } } INSERT AFTER .comment;\n")
    script = "'-Wl,-T,' + meson.project_source_root() / 'discard.ld'"
    project.edit("meson.build", "dependencies:", f"link_args: {script}, dependencies:")
    assert BY_TARGETS in project.setup(FEW, LDFLAGS="-B/usr/bin")
    said = project.ninja(check=False)
    assert "portable: contains no record of isagen, although kernels are linked into it\n  a linker script" in said
    assert not project.path("portable").exists()


def test_whole_modules(tmp_path):
    """The fragment itself declares their targets."""
    need("mold")
    project = make_project(tmp_path, "raw_modules")
    with (project.folder / "meson.build").open("a", encoding="utf-8") as stream:
        stream.write("isa_links = []\nsubdir('isagen/audit')\n")
    project.isagen("init")
    assert "isagen: warning" not in project.setup(FEW, **ON_LINUX)
    # An earlier isagen wrote the plan of a set that the project no longer has.
    project.path("isagen/isa_plan.a.json").write_text('{"format": 1}\n')
    assert audits(project.steps()) == 8
