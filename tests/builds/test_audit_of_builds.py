"""The audit of builds: linkers, other ways to build, single objects, and what cannot be audited."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from isagen.binary.formats import format_names
from support.auditing import audit, build, findings, plant_in_baseline
from support.pairs import paired
from support.prepared import FEW
from support.projects import matrix, need


@pytest.mark.parametrize(("compiler", "linker"), paired(["g++", "clang++-16"], ["bfd", "gold", "lld", "mold"]))
def test_every_linker_is_audited_and_sound_builds_have_no_finding(prepared, compiler, linker):
    """Also if the link says the linker's version besides."""
    need(compiler, {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}[linker])
    option = "-V" if linker == "bfd" else "-v"
    project = prepared("leak", FEW, f"-Dcpp_link_args=-Wl,{option}", CXX=compiler, CXX_LD=linker)
    assert audit(project, "build")[0] == 0
    plant_in_baseline(project)
    assert "planted_fault" in project.ninja(check=False)
    stripped = project.folder / "stripped"
    project.edit("main.cpp", '__attribute__((target("avx2"), noinline))', "__attribute__((noinline))")
    project.ninja()
    project.run("strip", "-o", stripped, project.path("leak"))
    status, report = audit(project, stripped)
    assert (status, report["targets"][0]["counted"]) == (0, {})
    cells = [cell for kernel in matrix(project, stripped)["kernels"] for cell in kernel["levels"].values()]
    assert all(bool(cell["code"]) == (cell["verdict"] == "built") for cell in cells)


@pytest.mark.parametrize(
    ("environment", "folder", "programs"),
    [
        ({"LDFLAGS": "-B/usr/libexec/mold"}, "build", ["mold"]),
        ({"LDFLAGS": "--ld-path=/usr/bin/ld.lld", "CXX": "clang++-16"}, "build", ["clang++-16", "/usr/bin/ld.lld"]),
        ({"CXX_LD": "/usr/bin/ld.lld-16", "CXX": "clang++-16"}, "build", ["clang++-16", "/usr/bin/ld.lld-16"]),
        ({"CXX": "g++"}, "bu:ild", []),  # GCC takes the folder's name for two
    ],
    ids=str,
)
def test_a_build_whose_linker_is_not_in_reach_says_so(new_project, environment, folder, programs):
    need(*programs)
    project = new_project("leak")
    project.build = folder
    for _ in range(2):
        said = (
            project.setup("--reconfigure", **environment)
            if project.path("").exists()
            else project.setup(FEW, **environment)
        )
        assert re.search(
            r"audited *: not when linked: .* does not look for its linker in the folder that -B names", said
        )
    plant_in_baseline(project)
    project.ninja()
    assert "audited: no, " in project.isagen("matrix", folder).stdout
    assert audit(project, folder)[0] == 1


def own_compiler(folder, compiler):
    """Copy a compiler's driver, so that it looks for its own files elsewhere; return it, and one that it would read."""
    (folder / "bin").mkdir(parents=True)
    driver = folder / "bin" / compiler.partition("-")[0]
    shutil.copy(os.path.realpath(shutil.which(compiler)), driver)
    if compiler.startswith("clang"):
        resources = Path(subprocess.check_output([compiler, "-print-resource-dir"], text=True).strip())
        (folder / "lib/clang").mkdir(parents=True)
        (folder / "lib/clang" / resources.name).symlink_to(resources)
        return driver, driver.with_name("clang++.cfg"), f"--ld-path={shutil.which('ld')}\n"
    places = []
    for asked, kind in (("-print-prog-name=cc1plus", "libexec"), ("-print-libgcc-file-name", "lib")):
        files = Path(subprocess.check_output([compiler, asked], text=True).strip()).parent
        places.append(folder / kind / "gcc" / files.parent.name / files.name)
        places[-1].mkdir(parents=True)
        for path in files.iterdir():
            (places[-1] / path.name).symlink_to(path)
    return driver, places[-1] / "specs", f"*linker:\n{shutil.which('ld')}\n"


@pytest.mark.parametrize("compiler", ["g++", "clang++-16"])
def test_whether_links_are_audited_is_found_out_anew(scaffold, tmp_path, compiler):
    """A compiler may gain a file that names its linker."""
    need(compiler)
    driver, file, text = own_compiler(tmp_path / "own", compiler)
    assert re.search("audited *: when linked", scaffold.setup(FEW, CXX=str(driver)))
    file.write_text(text)
    assert re.search("audited *: not when linked: ", scaffold.setup("--reconfigure"))
    file.unlink()
    assert re.search("audited *: when linked", scaffold.setup("--reconfigure"))


@pytest.mark.parametrize("version", ["14", "16"])
def test_a_linker_of_a_version_that_one_target_chooses(new_project, version):
    need(f"clang++-{version}", f"ld.lld-{version}")
    project = new_project("leak")
    plant_in_baseline(project)
    project.edit("meson.build", "dependencies:", f"link_args: '-fuse-ld=lld-{version}', dependencies:")
    assert re.search("audited *: when linked", project.setup(FEW, CXX=f"clang++-{version}"))
    assert "planted_fault" in project.ninja(check=False)


def test_a_link_that_makes_an_object_is_not_judged(prepared):
    project = prepared("leak", FEW)
    plan, tool = project.path("isagen/isa_plan.json"), project.path("isagen/isa_tool/__main__.py")
    parts = [*project.path("leak.p").glob("*.o"), *project.path("isagen").glob("isa_*.o")]
    assert len(parts) > 3
    project.run(sys.executable, tool, "link", plan, "error", shutil.which("ld"), "-r", "-o", "whole.o", *parts)
    assert (project.folder / "whole.o").is_file()


# test_instrumented.py has sanitizers, coverage and profiles.
@pytest.mark.parametrize("option", ["-Dcpp_link_args=-static", "-Db_lto=true", "-Dbuildtype=debug"])
def test_other_ways_to_build_are_sound_too(new_project, option):
    project = build(new_project, "leak", FEW, option)
    project.ninja()
    status, report = audit(project, "build")
    assert (status, findings(report)) == (0, [])


@pytest.mark.parametrize("option", ["-static", "-static-libstdc++"])
def test_the_standard_library_inside_a_program_is_sound(new_project, option):
    """Its own random_device asks the CPU before it uses RDRAND."""
    project = new_project("leak")
    project.edit("main.cpp", '#include "leak.h"', '#include "leak.h"\n#include <iostream>')
    project.setup(FEW, f"-Dcpp_link_args={option}")
    project.ninja()
    assert project.run("nm", "-C", "build/leak").stdout.count("__x86_rdrand")
    status, report = audit(project, "build")
    assert (status, findings(report)) == (0, [])


def wheel_of_the_kernels(folder):
    """Pack the installed reference extension into a wheel again."""
    wheel = folder / "isagen_kernels.whl"
    package = Path(pytest.importorskip("isagen_kernels").__file__).parent
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in package.iterdir():
            if path.is_file():
                archive.write(path, f"isagen_kernels/{path.name}")
    return wheel


def test_a_stripped_wheel_of_the_reference_extension_is_sound(tmp_path):
    wheel = wheel_of_the_kernels(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "isagen", "audit", str(wheel)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{wheel.name}/isagen_kernels/_core" in done.stdout
    assert "sealed, levels" in done.stdout
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    for path in unpacked.rglob("*.so"):
        subprocess.run(["strip", str(path)], check=True)
    done = subprocess.run(
        [sys.executable, "-m", "isagen", "audit", str(unpacked)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.count("nothing found") == 1


def test_objects_of_a_build(prepared):
    project = prepared("leak", FEW)
    level = next(project.path("isagen").glob("libisa_AVX2.a.p/*.o"))
    sealed = next(project.path("isagen").glob("isa_AVX2.*.o"))
    away = project.folder / "sealed.o"
    shutil.copy(sealed, away)
    for path in (level, sealed, project.path("leak.p/main.cpp.o"), away):
        said = project.isagen("audit", path, check=False)
        assert said.returncode == 2
        assert "is an object of a build of isagen\n  audit the build folder, or what the object" in said.stdout
    copy = project.folder / "copy.o"
    shutil.copy(level, copy)  # no plan knows this copy
    status, report = audit(project, copy)
    assert (status, {finding["kind"] for finding in findings(report)}) == (0, {"bindable"})


# Targets that cannot be audited.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "there is no such file or folder"),
        (lambda path: path.write_text("hello"), f"is not an {format_names()} file that can be read"),
        (lambda path: path.write_bytes(b"\x7fELF" + b"\1" * 200), "is not"),
        (lambda path: path.write_bytes(b"\x7fELF\2\1\1" + bytes(300)), "is not an ELF file that can be read"),
    ],
)
def test_what_cannot_be_audited_is_one_clear_error(new_project, make, message):
    project = new_project()
    make(project.folder / "target")
    done = project.isagen("audit", "target", check=False)
    assert done.returncode == 2
    assert done.stdout.startswith("isagen: error: target: ")
    assert message in done.stdout


def test_a_build_folder_of_something_else_is_no_finding(new_project):
    project = new_project()
    (project.folder / "meson.build").write_text("project('plain')\n")
    project.setup()
    done = project.isagen("audit", "build", check=False)
    assert done.returncode == 2
    assert done.stdout.startswith("isagen: error: build: no build that uses isagen is here")


def test_a_damaged_plan_is_no_finding(prepared):
    project = prepared("leak", FEW)
    project.path("isagen/isa_plan.json").write_text("{")
    done = project.isagen("audit", "build", check=False)
    assert done.returncode == 2
    assert "isa_plan.json: cannot be read" in done.stdout


def test_files_for_other_machines_in_a_build_folder_are_passed_over(prepared):
    need("gcc")
    project = prepared("leak", FEW)
    project.path("f.c").write_text("int f(void) { return 1; }\n")
    project.run("gcc", "-m32", "-shared", "-nostdlib", "build/f.c", "-o", "build/f.so")
    status, report = audit(project, "build")
    assert (status, len(report["targets"])) == (0, 1)
    project.path("cut.so").write_bytes(project.path("leak").read_bytes()[:5000])
    done = project.isagen("audit", "build", check=False)
    assert done.returncode == 2
    assert "nothing found" in done.stdout
    assert "cut.so: is not an ELF file that can be read" in done.stdout


def test_a_build_folder_without_anything_linked(new_project):
    project = build(new_project, "leak")
    done = project.isagen("audit", "build", check=False)
    assert done.returncode == 2
    assert "build it first" in done.stdout


def test_a_cut_off_library(prepared):
    project = prepared("leak", FEW)
    content = project.path("leak").read_bytes()
    for size in (0, 63, 64, 1000, len(content) // 2, len(content) - 100):
        (project.folder / "cut").write_bytes(content[:size])
        done = project.isagen("audit", "cut", check=False)
        assert done.returncode in (1, 2), (size, done.stdout)
        assert "Traceback" not in done.stdout


def test_code_for_other_machines_is_said_not_to_be_decoded(new_project):
    project = new_project()
    (project.folder / "f.cpp").write_text("int f(int x) { return x; }\n")
    project.run("g++", "-shared", "-fPIC", "-nostdlib", "f.cpp", "-o", "libf.so")
    content = bytearray((project.folder / "libf.so").read_bytes())
    content[18:20] = (258).to_bytes(2, "little")  # EM_LOONGARCH
    (project.folder / "libf.so").write_bytes(content)
    done = project.isagen("audit", "libf.so", check=False)
    assert done.returncode == 2
    assert done.stdout.startswith("isagen: error: libf.so: code for LoongArch is not decoded")
    (project.folder / "libs").mkdir()
    shutil.move(project.folder / "libf.so", project.folder / "libs/libf.so")
    assert project.isagen("audit", "--summary", "libs").stdout == "skip   libs: 1 file, not audited\n"
    shutil.copy(sys.executable, project.folder / "libs/python")
    status, report = audit(project, "libs")
    assert status == 0
    assert [target["decoded"] for target in report["targets"]] == [False, True]
    said = project.isagen("audit", "libs").stdout
    assert said.endswith("ok     libs: 2 files, 0 load, 0 unproven; not audited 1\n")


def test_an_output_that_cannot_be_read_fails_the_link_but_not_where_only_warnings_are_wanted(prepared):
    project = prepared("leak", FEW)
    tool = project.path("isagen/isa_tool/__main__.py")
    plan = project.path("isagen/isa_plan.json")
    (project.folder / "ld").write_text("#!/bin/sh\nprintf '\\177ELF and no more' > out\n")
    (project.folder / "ld").chmod(0o755)
    for mode, status in (("error", 2), ("warn", 0)):
        done = project.run(sys.executable, tool, "link", plan, mode, project.folder / "ld", "-o", "out", check=False)
        assert done.returncode == status
        assert "out: is not" in done.stdout
        assert (project.folder / "out").exists() == (mode == "warn")


def test_without_the_decoder_a_build_works_and_says_that_links_are_not_audited(scaffold, tmp_path):
    """Distributions may lack iced-x86."""
    (tmp_path / "hidden/iced_x86").mkdir(parents=True)
    (tmp_path / "hidden/iced_x86/__init__.py").write_text("raise ImportError\n")
    scaffold.environment["PYTHONPATH"] = str(tmp_path / "hidden")
    said = scaffold.setup("-Disa_levels=AVX2,AVX512")
    assert re.search(r"audited *: not when linked: iced-x86 is not installed$", said, re.M)
    warning = "WARNING: isagen: -Disa_audit=error, but no link is audited: iced-x86 is not installed for"
    assert warning in said
    assert "pip install iced-x86, or configure with -Disa_audit=off" in said
    assert warning not in scaffold.setup("--reconfigure", "-Disa_audit=off")
    scaffold.setup("--reconfigure", "-Disa_audit=error")
    assert re.search(r"AVX512 *: 2 of 2 kernels", said)
    scaffold.ninja()
    assert "\naudited: no, iced-x86 is not installed\n" in scaffold.isagen("matrix", "build").stdout
    assert (
        "problem  iced-x86 is not installed: no instruction is counted, and no link is audited\n"
        "           pip install iced-x86\n"
    ) in scaffold.isagen("doctor", check=False).stdout
    refused = scaffold.isagen("audit", "build", check=False)
    assert (refused.returncode, refused.stdout) == (
        2,
        "isagen: error: audit: iced-x86 is not installed\n  pip install iced-x86\n",
    )
