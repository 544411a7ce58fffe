"""The audit of PE files: planted instructions are found in what MinGW's GCC and zig link, stripped or not."""

import json
import re
from pathlib import Path

import pytest

from isagen.binary.coff.objects import CoffObject
from support.platforms import WINDOWS, surroundings
from support.projects import Project, make_project

STATIC = ["-Dc_link_args=-static", "-Dcpp_link_args=-static"]  # GCC's libraries are not where wine looks
ADD = 'asm volatile("vpaddd %ymm0, %ymm1, %ymm2");'
PLANTED = f"__attribute__((used, noinline)) static void in_NAME() {{ {ADD} }}\n"


def configured(folder: Path, compiler: str, package: str, *options: str) -> Project:
    """A package, configured for Windows."""
    platform = WINDOWS[compiler]
    platform.require()
    project = make_project(folder, package)
    project.environment |= surroundings(folder)
    static = STATIC if compiler == "mingw" else []
    project.setup("--cross-file", str(platform.cross_file(folder)), *static, *options)
    return project


def audited(project: Project, *words) -> list[dict]:
    """The findings of an audit, after which the exit status says whether there are any that fail."""
    done = project.isagen("audit", "--format", "json", *words, check=False)
    report = json.loads(done.stdout)
    found = [one for target in report["targets"] for one in target["findings"]]
    assert done.returncode == any(one["kind"] not in ("unproven", "bindable") for one in found)
    return found


def stripped(project: Project, program: Path) -> Path:
    """A stripped copy of a program."""
    copy = project.folder / f"stripped-{program.name}"
    project.run("x86_64-w64-mingw32-strip", program, "-o", copy)
    return copy


@pytest.mark.parametrize("compiler", WINDOWS)
def test_planted_instructions_are_found_in_builds(tmp_path, compiler):
    """In a constructor, in ordinary code, in an exported function and in a level that lacks the feature.

    Not in the level that has it. A clean build has no finding. zig writes no symbols.
    """
    project = configured(tmp_path, compiler, "portable", "-Disa_levels=AVX2,AVX512")
    project.ninja()
    program = project.path("portable.exe")
    assert audited(project, program) == audited(project, "build") == []
    assert audited(project, stripped(project, program)) == []
    added = [
        ("main.cpp", PLANTED.replace("NAME", "main")),
        ("main.cpp", f'extern "C" __declspec(dllexport) void in_exported() {{ {ADD} }}\n'),
        ("early.cpp", PLANTED.replace("NAME", "early").replace("((used", "((constructor, used")),
        ("kernels/dot.cpp", "#ifdef CPU_CAPABILITY_DEFAULT\n" + PLANTED.replace("NAME", "default") + "#endif\n"),
        ("kernels/dot.cpp", "#ifdef CPU_CAPABILITY_AVX512\n" + PLANTED.replace("NAME", "avx512") + "#endif\n"),
    ]
    for name, text in added:
        with (project.folder / name).open("a", encoding="utf-8") as stream:
            stream.write(text)
    project.ninja()
    expected = {("main", "baseline"), ("exported", "baseline"), ("early", "load"), ("default", "level")}
    for where in (program, "build", stripped(project, program)):
        found = audited(project, where)
        assert sorted(one["kind"] for one in found) == sorted(kind for _, kind in expected)
        assert all(one["features"] == ["avx2"] for one in found)
        assert [one["level"] for one in found if one["kind"] == "level"] == ["DEFAULT"]
        if compiler == "mingw" and where in (program, "build"):
            assert {
                (re.search(r"in_(main|exported|early|default)", one["symbol"])[1], one["kind"]) for one in found
            } == expected


def test_the_boundaries_of_levels_are_checked(tmp_path):
    """Ordinary code that calls a level's code or takes its address, and a DLL that exports it."""
    project = configured(tmp_path, "mingw", "portable", "-Disa_levels=AVX2")
    kernel = project.folder / "kernels/dot.cpp"
    kernel.write_text(
        kernel.read_text() + "int called(int x) { return x + (int)sizeof(int); }\nint taken(int x) { return x - 1; }\n"
    )
    project.ninja()
    file = CoffObject.load(project.path("isagen/isa_AVX2.dot.cpp.o"))
    called, taken = (next(one.name for one in file.symbols if name in one.name) for name in ("called", "taken"))
    main = project.folder / "main.cpp"
    main.write_text(
        f'extern int called(int) __asm__("{called}");\nextern int taken(int) __asm__("{taken}");\n'
        "extern int (*volatile hook)(int);\nint (*volatile hook)(int);\n"
        "void use() { hook = &taken; hook(called(1)); }\n" + main.read_text()
    )
    project.ninja()
    program = project.path("portable.exe")
    found = audited(project, program)
    # An object names both, and so does the code that is linked.
    assert {(one["kind"], one["symbol"]) for one in found} == {("past", called), ("past", taken), ("address", taken)}
    copy = stripped(project, program)
    assert {(one["kind"], one["level"]) for one in audited(project, copy)} == {("past", "AVX2"), ("address", "AVX2")}
    project.run("meson", "configure", "build", "-Dcpp_link_args=-static -Wl,--export-all-symbols")
    project.ninja()
    exported = {one["symbol"] for one in audited(project, program) if "exported" in one["detail"]}
    assert {called, taken} <= exported
