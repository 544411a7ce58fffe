"""`isagen doctor`: every mistake that it knows is one problem with a remedy, and a sound project has none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from isagen.cli import main
from isagen.model.errors import ProjectError
from isagen.processors.processor import DecodableCode
from isagen.processors.registry import this_cpu_family
from isagen.project.doctor import examine, examine_files, examine_tools
from isagen.project.init import init_project
from isagen.project.meson_files import without_comments
from support.projects import need

INIT = "run `isagen init`, and commit what it writes"
KERNELS = "isa_kernels = files('kernels/dot.cpp', 'kernels/level.cpp')\n"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sound")
    list(init_project(folder, name="hello"))
    return folder


@pytest.fixture
def project(sound, tmp_path):
    return Path(shutil.copytree(sound, tmp_path / "project"))


def problems(folder: Path, of=examine_files) -> list[tuple[str, str]]:
    return [(check.message, check.remedy) for check in of(folder) if not check.ok]


def edit(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def test_a_sound_project(project, capsys):
    assert main(["doctor", str(project)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok       ") for line in lines)
    told = "\n".join(lines)
    for words in (
        "Python 3.",
        "meson",
        "ninja",
        "C++ compiler: ",
        "meson.build:6: isa_kernels is set",
        "isa.toml: is there",
        "meson_options.txt: declares isagen's options",
    ):
        assert words in told


def test_fortran_kernels_need_fortran_and_c(project, monkeypatch):
    edit(project, "meson.build", "kernels/dot.cpp", "kernels/dot.f90")
    monkeypatch.setenv("FC", "cc")
    said = [check.message.partition(": ")[0] for check in examine_tools(project)]
    assert [one for one in said if "compiler" in one] == ["C++ compiler", "Fortran compiler", "C compiler"]


@pytest.mark.parametrize(
    "statement",
    [
        "isa_sets = {\n  'one': {'kernels': files('one.c')},\n  'two': {'kernels': [files('two.f90')]},\n}",
        "isa_kernels = files('one.c') + files('two.f90')",
        "isa_kernels = files('one.c')\nif true\n  isa_kernels += files('two.f90')\nendif",
    ],
)
def test_the_languages_of_all_kernels_count(project, monkeypatch, statement):
    """Those of other sources do not: the next statement names one in C++."""
    edit(project, "meson.build", KERNELS, f"{statement}\nother = files('other.cpp')\n")
    monkeypatch.setenv("FC", "cc")
    said = [check.message.partition(": ")[0] for check in examine_tools(project)]
    assert [one for one in said if "compiler" in one] == ["Fortran compiler", "C compiler"]


MISTAKES = {
    "no isagen in requires": (
        ("pyproject.toml", ', "isagen"', ""),
        "pyproject.toml: build-system.requires does not name isagen",
        'add "isagen" to the list',
    ),
    "no meson-python in requires": (
        ("pyproject.toml", '"meson-python", ', ""),
        "pyproject.toml: build-system.requires does not name meson-python",
        'add "meson-python" to the list',
    ),
    "requires is a number": (
        ("pyproject.toml", '["meson-python", "isagen"]', "1"),
        "pyproject.toml: build-system.requires: must be a list of strings, not 1",
        "",
    ),
    "no kernels": (
        ("meson.build", KERNELS, ""),
        "meson.build: isa_kernels is not set",
        "write isa_kernels = files('kernels/one.cpp') before subdir('isagen')",
    ),
    "kernels in a comment": (
        ("meson.build", KERNELS, f"# {KERNELS}"),
        "meson.build: isa_kernels is not set",
        "write isa_kernels = files('kernels/one.cpp') before subdir('isagen')",
    ),
    "no subdir": (
        ("meson.build", "subdir('isagen')\n", ""),
        "meson.build: subdir('isagen') is missing",
        "write subdir('isagen') after isa_kernels, and before the target that takes isa_kernels_dep",
    ),
    "no dependency": (
        ("meson.build", "  dependencies: isa_kernels_dep,\n", ""),
        "meson.build: no target takes isa_kernels_dep: no kernel is linked",
        "give the target dependencies: isa_kernels_dep",
    ),
    "isa_links without its fragment": (
        ("meson.build", KERNELS, f"{KERNELS}isa_links = []\n"),
        "isagen/audit/meson.build: there is no such file",
        INIT,
    ),
    "options of another version": (
        ("meson_options.txt", "isa_audit", "isa_other"),
        "meson_options.txt: does not declare isa_audit",
        INIT,
    ),
}


@pytest.mark.parametrize(("change", "said", "remedy"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_problem(project, change, said, remedy):
    edit(project, *change)
    assert problems(project) == [(said, remedy)]


def test_a_project_of_sets_is_told_of_its_sets(project):
    edit(project, "meson.build", "isa_kernels_dep", "isa_kernels_deps['one']")
    sets = "isa_sets = {'one': {'kernels': files('kernels/dot.cpp')}}\n"
    edit(project, "meson.build", KERNELS, sets)
    said = [check.message for check in examine_files(project)]
    assert "meson.build:6: isa_sets is set" in said
    assert any(one.endswith(": isa_kernels_deps is used") for one in said)
    edit(project, "meson.build", "isa_kernels_deps['one']", "[]")
    assert problems(project) == [
        (
            "meson.build: no target takes isa_kernels_deps: no kernel is linked",
            "give the target dependencies: isa_kernels_deps['NAME']",
        ),
    ]


def test_the_dependency_of_the_last_set_is_a_problem(project):
    edit(project, "meson.build", KERNELS, "isa_sets = {'one': {'kernels': files('kernels/dot.cpp')}}\n")
    assert problems(project) == [
        ("meson.build:10: isa_kernels_dep contains only the last of isa_sets", "write isa_kernels_deps['NAME']"),
    ]
    edit(project, "meson.build", "isa_sets", "isa_kernels = files('kernels/level.cpp')\nisa_sets")
    assert problems(project) == []  # of another fragment


def test_files_that_git_does_not_track_are_not_in_an_sdist(project):
    need("git")

    def git(*words):
        subprocess.run(["git", "-C", project, *words], check=True, capture_output=True)

    git("init", "-q")
    assert problems(project) == []  # nothing was added yet
    with (project / ".gitignore").open("a") as ignored:
        ignored.write("/isagen/\n")
    git("add", "meson.build", "meson_options.txt", ".gitignore")
    assert problems(project) == [
        (f"{path}: git does not track it, so an sdist lacks it", f"git add -f {path}, and commit")
        for path in ("isagen/isa.toml", "isagen/meson.build")
    ]
    git("add", "-f", "isagen")
    assert problems(project) == []


def test_a_decoder_that_is_not_installed_is_a_problem(project, monkeypatch):
    if this_cpu_family() != "x86_64":
        pytest.skip("the decoders of other processors are isagen's own")
    monkeypatch.setattr(DecodableCode, "installed", False)
    said = "iced-x86 is not installed: no instruction is counted, and no link is audited"
    assert problems(project, examine_tools) == [(said, "pip install iced-x86")]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("meson_options.txt", "meson_options.txt: there is no such file"),
        ("isagen/meson.build", "isagen/meson.build: there is no such file"),
        ("isagen/isa.toml", "isagen/isa.toml: there is no such file"),
    ],
)
def test_a_file_that_is_not_there(project, file, said):
    (project / file).unlink()
    assert problems(project) == [(said, INIT)]


def test_problems_are_the_exit_status(project, capsys):
    edit(project, "meson.build", "subdir('isagen')\n", "")
    assert main(["doctor", str(project)]) == 1
    assert "problem  meson.build: subdir('isagen') is missing\n           write subdir(" in capsys.readouterr().out


def test_a_project_whose_kernels_are_in_a_folder_of_their_own(project):
    """As isagen's own: the lines are in kernels/meson.build, and the fragment is below it."""
    text = (project / "meson.build").read_text()
    (project / "kernels/meson.build").write_text("isa_kernels = files('dot.cpp')\nsubdir('isagen')\n")
    (project / "meson.build").write_text(text.replace(KERNELS, "").replace("subdir('isagen')", "subdir('kernels')"))
    (project / "isagen").rename(project / "kernels/isagen")
    assert problems(project) == []
    (project / "kernels/meson.build").write_text("")
    assert [said for said in problems(project) if "kernels/meson.build" in said[0]] == [
        (
            "kernels/meson.build: isa_kernels is not set",
            "write isa_kernels = files('kernels/one.cpp') before subdir('isagen')",
        ),
        (
            "kernels/meson.build: subdir('isagen') is missing",
            "write subdir('isagen') after isa_kernels, and before the target that takes isa_kernels_dep",
        ),
    ]


def test_what_a_build_folder_and_a_subproject_hold_does_not_count(project):
    edit(project, "meson.build", KERNELS, "")
    (project / "build/meson-private").mkdir(parents=True)
    (project / "build/meson.build").write_text(KERNELS)
    (project / "subprojects/other").mkdir(parents=True)
    (project / "subprojects/other/meson.build").write_text(KERNELS)
    assert [said for said, _ in problems(project)] == ["meson.build: isa_kernels is not set"]


@pytest.mark.parametrize("missing", ["meson", "ninja"])
def test_tools_that_pip_does_not_fetch(project, monkeypatch, missing):
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)  # an environment may not be active
    found = shutil.which
    hidden = {"meson": {"meson"}, "ninja": {"ninja", "ninja-build", "samu"}}[missing]
    monkeypatch.setattr(shutil, "which", lambda name, **more: None if name in hidden else found(name, **more))
    assert problems(project, examine_tools) == []  # pip fetches it
    (project / "pyproject.toml").unlink()
    package = {"meson": "meson", "ninja": "ninja-build"}[missing]
    remedy = f"pip install {missing}, or the distribution's package {package}"
    assert problems(project, examine_tools) == [(f"{missing} is not installed", remedy)]


@pytest.mark.parametrize(
    "kernels", ["isa_sets = {'stats': {'kernels': files('kernels/dot.c')}}\n", "isa_kernels = list\n"]
)
def test_a_project_in_c_needs_no_compiler_of_cpp(project, kernels):
    edit(project, "meson.build", KERNELS, kernels)
    edit(project, "meson.build", "'cpp', version", "'c', version")
    said = [check.message.partition(": ")[0] for check in examine_tools(project)]
    assert "C compiler" in said
    assert "C++ compiler" not in said


def test_tools_that_are_not_on_path(project, monkeypatch, tmp_path):
    (tmp_path / "ninja").write_text("#!/bin/sh\necho 1.12\n")
    (tmp_path / "ninja").chmod(0o755)
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", os.path.dirname(shutil.which("g++")))
    found = shutil.which
    here = ("ninja", "ninja-build", "samu", "meson")
    monkeypatch.setattr(shutil, "which", lambda name, **more: found(name, **more) if more or name not in here else None)
    assert problems(project, examine_tools) == []  # pip's isolated builds have their own
    (project / "pyproject.toml").unlink()
    assert (f"ninja ({tmp_path}/ninja) is not on PATH", "activate its environment, or add its folder") in problems(
        project, examine_tools
    )


def test_a_tool_of_an_environment_that_is_gone(project, monkeypatch, tmp_path):
    (tmp_path / "meson").write_text("#!/no/such/python\n")
    (tmp_path / "meson").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    said = f"{tmp_path}/meson cannot be run: No such file or directory"
    assert (said, "install meson again") in problems(project, examine_tools)


def test_tools_that_are_too_old(project, monkeypatch, tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "meson").write_text("#!/bin/sh\necho 0.61.2\n")
    (tools / "old-gcc").write_text(
        "#!/bin/sh\necho '#define __GNUC__ 9'\necho '#define __GNUC_MINOR__ 4'\necho '#define __GNUC_PATCHLEVEL__ 0'\n"
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.setattr("sys.executable", str(tools / "python"))
    monkeypatch.setenv("CXX", "old-gcc")
    assert [said.replace(str(tools), "") for said, _ in problems(project, examine_tools)] == [
        "meson 0.61.2 (/meson) is older than 1.0.1",
        "GCC 9.4.0 (old-gcc) is older than 11",
    ]
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "cpp compiler: there is no compiler 'no-such-compiler'" in [
        said for said, _ in problems(project, examine_tools)
    ]


def test_a_folder_without_a_project(tmp_path):
    with pytest.raises(ProjectError, match=r"there is no meson\.build"):
        list(examine(tmp_path))


def test_comments_end_at_the_line_and_strings_may_hold_their_mark():
    text = "a = '#1' # isa_kernels\nb = '''\n# kept\n''' # gone\n"
    assert without_comments(text) == "a = '#1' \nb = '''\n# kept\n''' \n"
