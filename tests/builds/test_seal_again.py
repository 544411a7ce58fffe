"""Sealing after edits leaves, byte for byte, what sealing everything anew leaves."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from isagen.binary.formats import FORMATS, load_object
from isagen.build import main as build_main
from isagen.model.files import write_if_changed
from isagen.model.names import plan_name
from support.again import BAD, BOUNDS, LEVELS, SECTION, make
from support.prepared import FEW, Prepared
from support.projects import need


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return Prepared(tmp_path_factory.mktemp("again"))


@pytest.fixture
def project(request, prepared):
    """The project of g++, or of the compiler that a test names; what follows from an edit needs objects of both."""
    compiler = getattr(request, "param", "g++")
    need(compiler)
    found = prepared(make, FEW, CXX=compiler)
    assert seal(found) == ""  # its files are others than those that were sealed
    return found


def seal(project, folder="isagen"):
    """Run the step, with its results in a folder of the build folder; return what it said where it failed."""
    tool, plan = project.path("isagen/isa_tool/__main__.py"), project.path("isagen/isa_plan.json")
    done = subprocess.run(
        [sys.executable, "-I", "-S", tool, "seal", plan, folder],
        cwd=project.path(""),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) == ("error: " in done.stderr)
    return done.stderr if done.returncode else ""


def results(project, folder="isagen"):
    """The sealed objects, the registrations and the table of stubs in a folder, by name."""
    found = project.path(folder).glob("isa_*.*")
    return {one.name: one.read_bytes() for one in found if one.suffix in (".o", ".json") and one.name != plan_name()}


def check(project, error=""):
    """Build, and compare what is there with what sealing everything anew leaves; return that."""
    said = project.run("ninja", "-C", project.build, "isagen/isa_AVX2.json", check=False).stdout
    shutil.rmtree(project.path("anew"), ignore_errors=True)
    assert error in seal(project, "anew")
    if error:
        assert error in said
        return {}
    assert "FAILED" not in said, said
    anew = results(project, "anew")
    assert results(project) == anew
    return anew


def folds(project, source):
    """The levels at which a kernel source folds."""
    found = {level: json.loads(project.path(f"isagen/isa_{level}.json").read_text()) for level in ("AVX2", "AVX512")}
    return [level for level, one in found.items() if source in one["folded"]]


INCLUDED = '#include "shared.h"\n'
# By what it does: the file that an edit changes, the text that it replaces, the text in its place, and the error.
EDITS = {
    "a number": ("three.cpp", "FACTOR 4", "FACTOR 7", ""),
    "a comment": ("four.cpp", INCLUDED, INCLUDED + "// nothing\n", ""),
    "a shared function's code": ("shared.h", "x * 3 + 1", "x * 5 + 2", ""),
    "a shared function is used by one more kernel": ("four.cpp", "FACTOR 5", "FACTOR (5 + shared((int)n))", ""),
    "it is another function there": ("two.cpp", INCLUDED, "#define shared other\n" + INCLUDED, ""),
    "it is not used there": ("two.cpp", "+ shared((int)n) ", "", ""),
    "a shared constant": ("shared.h", "{1, 2, 3}", "{1, 2, 4}", ""),
    "a shared constant's size": ("shared.h", "{1, 2, 4}", "{1, 2, 4, 5}", ""),
    "a shared variable": ("shared.h", "static const int held", "static int held", ""),
    "its size differs by level": (
        "shared.h",
        "{1, 2, 4, 5}",
        "{1, LANES}",
        "levels share this variable, but its initial",
    ),
    "it is the same again": ("shared.h", "{1, LANES}", "{1, 2}", ""),
    "a variable of one kernel": ("one.cpp", INCLUDED, INCLUDED + "static int count;\n", ""),
    "which it counts in": ("one.cpp", "(2 + ", "(2 + ++count + ", ""),
    "it is gone": ("one.cpp", "++count + ", "", ""),
    "it holds an address": ("shared.h", "static int held[] = {1, 2};", BAD, "shared by all levels, but points to"),
    "another kernel changes meanwhile": ("four.cpp", "(5 + ", "(6 + ", "shared by all levels, but points to"),
    "it holds none again": ("shared.h", BAD, "static int held[] = {1, 2};", ""),
    "a name in a section": ("four.cpp", INCLUDED, INCLUDED + SECTION, ""),
    "which another kernel looks for": ("three.cpp", '"again.h"\n', '"again.h"\n' + BOUNDS, ""),
    "one kernel is not the same at all levels": ("four.cpp", "(6 + ", "(AT_LEVEL + ", ""),
    "it is the same again at all levels": ("four.cpp", "(AT_LEVEL + ", "(8 + ", ""),
    "a registration": ("four.cpp", "ISA_REGISTER_DISPATCH(four, &run)", "ISA_REGISTER_NO_DISPATCH(four)", ""),
    "is there twice": ("four.cpp", "ISA_REGISTER_NO_DISPATCH(four)", "ISA_REGISTER_DISPATCH(one, &run)", "twice"),
    "is back": ("four.cpp", "ISA_REGISTER_DISPATCH(one, &run)", "ISA_REGISTER_DISPATCH(four, &run)", ""),
    "a kernel calls another's function": ("three.cpp", "FACTOR 7", "FACTOR extra((int)n)", ""),
    "which is not there any more": ("one.cpp", "int extra(int x) { return x; }\n", "", ""),
}
# The compiler makes nothing of these.
SAME = {"a comment", "a variable of one kernel"}


@pytest.mark.parametrize("project", ["g++", "clang++-16"], indirect=True)
def test_each_edit_leaves_what_sealing_anew_leaves(project):
    before = check(project)
    assert folds(project, "one.cpp") == folds(project, "two.cpp") == ["AVX2", "AVX512"]
    assert folds(project, "three.cpp") == []
    for name, (file, old, new, error) in EDITS.items():
        project.edit(file, old, new)
        after = check(project, error)
        assert (after == before) == (name in SAME) or error, name
        before = after


@pytest.mark.parametrize("project", ["g++", "clang++-16"], indirect=True)
def test_a_kernel_folds_with_those_that_share_a_function(project):
    project.edit("two.cpp", INCLUDED, INCLUDED + "#define AT AT_LEVEL\n")
    project.edit("two.cpp", "(3 + ", "(AT + ")
    check(project)
    assert folds(project, "two.cpp") == []
    project.edit("two.cpp", "#define AT AT_LEVEL\n", "#define AT 9\n")
    check(project)
    assert folds(project, "two.cpp") == ["AVX2", "AVX512"]


def test_an_edit_changes_the_objects_of_its_kernel_and_those_with_notes(project):
    check(project)
    before = {path: path.read_bytes() for path in project.path("isagen").glob("isa_*.o")}
    project.edit("three.cpp", "FACTOR 4", "FACTOR 11")
    check(project)
    changed = {path.name for path, content in before.items() if path.read_bytes() != content}
    assert {name for name in changed if "three" in name} == {f"isa_{one}.three.cpp.o" for one in LEVELS}
    assert len(changed) <= 2 * len(LEVELS)


def test_objects_are_read_only_where_they_changed(project, monkeypatch):
    check(project)
    calls = []

    def load(path):
        calls.append(Path(path).name)
        return load_object(path)

    monkeypatch.setattr("isagen.build.compiled.load_object", load)
    monkeypatch.chdir(project.path(""))
    (path,) = project.path("isagen").glob("libisa_AVX2.a.p/*three*.o")
    path.write_bytes(path.read_bytes() + b"\0")
    words = ["seal", str(project.path("isagen/isa_plan.json")), "isagen"]
    assert build_main.main(words) == 0
    assert calls == [path.name]
    calls.clear()
    assert build_main.main(words) == 0
    assert calls == []


def test_a_deleted_output_is_made_again(project):
    before = check(project)
    for name in ("isa_AVX2.three.cpp.o", "isa_DEFAULT.one.cpp.o", "isa_AVX512.json"):
        project.path(f"isagen/{name}").unlink()
        assert seal(project) == ""
        assert results(project) == before


def test_what_somebody_changed_is_made_again(project):
    before = check(project)
    for name in ("isa_AVX2.three.cpp.o", "isa_AVX512.json"):
        path = project.path(f"isagen/{name}")
        state = path.stat()
        content = path.read_bytes()
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        assert seal(project) == ""
        assert results(project) == before


def test_an_object_that_is_restored_with_its_time_is_read_again(project):
    project.edit("three.cpp", "FACTOR 4", "FACTOR 100003")
    check(project)
    (path,) = project.path("isagen").glob("libisa_AVX512.a.p/*three*.o")
    before, times = path.read_bytes(), path.stat()
    project.edit("three.cpp", "FACTOR 100003", "FACTOR 100019")
    edited = check(project)
    now = path.read_bytes()
    assert len(now) == len(before) and now != before
    for content, same in ((before, False), (now, True)):
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert seal(project) == ""
        assert (results(project) == edited) == same
        shutil.rmtree(project.path("anew"))
        assert seal(project, "anew") == ""
        assert results(project) == results(project, "anew")


def damaged(content):
    """A kept file with one change each, and none."""
    yield b""
    yield content[: len(content) // 2]
    yield content[:-9] + bytes([content[-9] ^ 1]) + content[-8:]
    yield content[:9] + b"\0" * 4 + content[13:]


def test_a_damaged_record_is_none(project):
    check(project)
    path = project.path("isagen/.isa_plan.sealed")
    for number, content in enumerate(damaged(path.read_bytes())):
        project.edit("three.cpp", f"FACTOR {4 + number}", f"FACTOR {5 + number}")
        path.write_bytes(content)
        check(project)


def test_a_run_that_is_killed_midway(project, monkeypatch):
    """It leaves some results, and no record."""
    check(project)
    monkeypatch.chdir(project.path(""))
    words = ["seal", str(project.path("isagen/isa_plan.json")), "isagen"]
    project.edit("shared.h", "x * 3 + 1", "x * 7 + 2")
    project.edit("three.cpp", "FACTOR 4", "FACTOR 19")
    units = [f"isagen/libisa_{level}" for level in LEVELS]
    targets = project.run("ninja", "-C", project.build, "-t", "targets", "all").stdout.splitlines()
    objects = [name for line in targets if (name := line.partition(":")[0]).startswith(tuple(units)) and ".o" in name]
    project.run("ninja", "-C", project.build, *objects)

    class Killed(BaseException):
        pass

    for number in range(9):
        written = []

        def write(path, content, mode=0o666, written=written, number=number):
            if len(written) == number:
                raise Killed
            written.append(path)
            return write_if_changed(path, content, mode)

        with monkeypatch.context() as patched:
            patched.setattr("isagen.build.seal.write_if_changed", write)
            with pytest.raises(Killed):
                build_main.main(words)
    check(project)


def test_ninja_has_nothing_to_do_after_configuring_again(project):
    """Meson makes ninja forget when steps ran: what they left as it was must not be older than their inputs."""
    project.ninja()
    for edit in (("three.cpp", "FACTOR 4", "FACTOR 23"), ("four.cpp", INCLUDED, INCLUDED + "// nothing\n")):
        project.edit(*edit)
        project.ninja()
        project.run("meson", "setup", "--reconfigure", project.build)
        assert "no work to do" in project.ninja()


def test_configuring_again_reads_no_object(project, monkeypatch):
    before = check(project)
    project.run("meson", "setup", "--reconfigure", project.build)
    monkeypatch.chdir(project.path(""))
    monkeypatch.setattr("isagen.build.compiled.load_object", None)
    assert build_main.main(["seal", str(project.path("isagen/isa_plan.json")), "isagen"]) == 0
    assert results(project) == before


def test_another_isagen_writes_all_results_anew(project, monkeypatch):
    """It may write the same in another format."""
    check(project)
    monkeypatch.chdir(project.path(""))
    monkeypatch.setattr("isagen.build.seal.file_text", lambda registered: f"new {registered.level}")
    changed = replace(FORMATS[0], seal=lambda *arguments: b"new", with_note=lambda *arguments: b"noted")
    monkeypatch.setattr("isagen.build.seal.format_of", lambda file: changed)
    words = ["seal", str(project.path("isagen/isa_plan.json")), "isagen"]
    assert build_main.main(words) == 0
    assert project.path("isagen/isa_AVX2.json").read_text() != "new AVX2"
    with project.path("isagen/isa_plan.conf").open("a") as answers:
        answers.write("\n")  # as its digest of the step's code
    assert build_main.main(words) == 0
    assert project.path("isagen/isa_AVX2.json").read_text() == "new AVX2"
    contents = {project.path(f"isagen/isa_{level}.three.cpp.o").read_bytes() for level in LEVELS}
    assert contents <= {b"new", b"noted"}
