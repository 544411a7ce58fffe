"""`isagen init`: what it writes, keeps, updates and refuses."""

import json
import os
from pathlib import Path

import pytest

from isagen.planning.config import load_config
from isagen.project.init import is_unchanged, signed
from support.init import EXISTING, OPTIONS, existing_project, refused, run, tree


@pytest.fixture
def project(tmp_path) -> Path:
    return existing_project(tmp_path)


@pytest.fixture
def empty(tmp_path) -> Path:
    folder = tmp_path / "hello-isa"
    folder.mkdir()
    return folder


# ---- an empty folder


def test_scaffold(empty):
    said = run(empty)
    files = tree(empty)
    assert set(files) == {
        "pyproject.toml",
        "meson.build",
        "meson_options.txt",
        "isagen/meson.build",
        "isagen/isa.toml",
        "kernels/dot.h",
        "kernels/dot.cpp",
        "kernels/level.cpp",
        "src/core.cpp",
        "src/hello_isa/__init__.py",
        "tests/test_dot.py",
        "README.md",
        ".gitignore",
    }
    for path in files:
        assert f"wrote    {path}" in said
    assert f"pip install {empty}" in said
    assert b"project('hello_isa'" in files["meson.build"]
    assert b'name = "hello-isa"' in files["pyproject.toml"]
    assert b"subdir('isagen')" in files["meson.build"]
    assert not [path for path, content in files.items() if b"{{" in content or b"{%" in content]
    assert load_config(empty / "isagen/isa.toml").override == "HELLO_ISA_ISA"


def test_scaffold_under_other_names(empty):
    run(empty, name="Kern", fragment="build-aux/isa")
    files = tree(empty)
    assert {"src/Kern/__init__.py", "build-aux/isa/meson.build", "build-aux/isa/isa.toml"} <= set(files)
    assert b"subdir('build-aux/isa')" in files["meson.build"]
    assert load_config(empty / "build-aux/isa/isa.toml").override == "KERN_ISA"


def test_running_again_changes_nothing_and_says_so(empty):
    run(empty)
    before = tree(empty)
    for path in empty.rglob("*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    said = run(empty).strip().splitlines()
    assert tree(empty) == before
    assert {path.stat().st_mtime for path in empty.rglob("*")} == {1_000_000_000}
    assert said[:3] == [
        "kept     isagen/meson.build (up to date)",
        "kept     isagen/isa.toml (yours)",
        "kept     meson_options.txt (up to date)",
    ]


@pytest.mark.parametrize("path", ["pyproject.toml", "kernels/dot.cpp", "src/core.cpp", "src/hello_isa/__init__.py"])
def test_scaffold_overwrites_nothing(empty, path):
    (empty / path).parent.mkdir(parents=True, exist_ok=True)
    (empty / path).write_text("mine")
    refused(empty, "exists already, but there is no meson.build")


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (["CMakeLists.txt", "a.cpp"], "CMakeLists.txt"),
        (["README.md", "setup.py", "pkg/__init__.py"], "pkg"),
        (["src/a.c"], "src"),
        (["READMEs/x"], "READMEs"),
        (["main.rs"], "main.rs"),
    ],
)
def test_a_folder_with_sources_and_without_meson_is_refused(empty, names, named):
    for name in names:
        (empty / name).parent.mkdir(exist_ok=True)
        (empty / name).write_text("mine")
    refused(empty, rf"/{named}: exists already, but there is no meson\.build\n  .*isagen init.* again")


def test_a_new_repository_is_as_good_as_an_empty_folder(empty):
    for name in (".git/config", ".gitignore", "README.md", "LICENSE", "COPYING.txt", "venv/pyvenv.cfg"):
        (empty / name).parent.mkdir(exist_ok=True)
        (empty / name).write_text("mine")
    assert "wrote    meson.build" in run(empty)
    assert (empty / "README.md").read_text() == "mine"


def test_a_new_folder_is_made(tmp_path, monkeypatch):
    assert "wrote    meson.build" in run(tmp_path / "new")
    assert (tmp_path / "new/src/new/__init__.py").exists()
    monkeypatch.chdir(tmp_path)
    assert "Build and install it:  pip install ./other" in run(Path("other"))


def test_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file"):
        run(tmp_path / "file")


# ---- an existing project


def test_existing_project_gets_the_fragment_and_advice(project):
    said = run(project)
    assert set(tree(project)) == {"meson.build", "isagen/meson.build", "isagen/isa.toml", "meson_options.txt"}
    assert (project / "meson.build").read_text() == EXISTING
    assert "SPDX-License-Identifier: 0BSD\n" in (project / "isagen/meson.build").read_text()
    assert "subdir('isagen')" in said
    assert "isa_kernels_dep" in said
    assert "isa_add_to_module" not in said  # without pyproject.toml, there may be no module
    (project / "pyproject.toml").touch()
    assert "\nand calls isa_add_to_module(module).\n" in run(project) + "\n"


@pytest.mark.parametrize(
    ("text", "override"),
    [
        ("project('fast-sort', 'c')", "FAST_SORT_ISA"),
        ("# project('old')\nproject(\n  'Über 3d',\n  'cpp')", "UBER_3D_ISA"),
        ("project('3d', 'cpp')", "MY_3D_ISA"),
        ("project('it\\'s')", "IT_S_ISA"),
        ("project('+', 'cpp')", "MY_ISA"),
        ("name = 'x'\nproject(name, 'cpp')", "MINE_ISA"),
        ("my_project('no')\nproject('yes')", "YES_ISA"),
    ],
)
def test_the_override_has_the_name_that_meson_knows(project, text, override):
    (project / "meson.build").write_text(text, encoding="utf-8")
    run(project)
    assert load_config(project / "isagen/isa.toml").override == override


def test_a_name_that_is_given_counts_before_meson_s(project):
    run(project, name="other")
    assert load_config(project / "isagen/isa.toml").override == "OTHER_ISA"


def test_a_name_that_would_name_nothing_is_refused(project):
    run(project, name="other")
    refused(project, "--name: names nothing here: isagen/isa.toml is there\\n.*set override in isa.toml", name="more")


def test_no_advice_where_it_was_followed(project):
    (project / "sub").mkdir()
    (project / "sub" / "meson.build").write_text("library('x', dependencies: isa_kernels_dep)\n")
    assert "subdir(" not in run(project)


def test_advice_names_a_fragment_in_a_deeper_folder(project):
    assert "subdir('build-aux/isa')" in run(project, fragment="build-aux/isa")


def test_advice_is_for_the_meson_build_above_the_fragment(project):
    (project / "lib").mkdir()
    (project / "lib/meson.build").write_text("x = 1\n")
    said = run(project, fragment="lib/isa")
    assert "Add two lines to lib/meson.build and isa_kernels_dep to a target's dependencies" in said
    assert "  subdir('isa')\n" in said


@pytest.mark.parametrize(("languages", "suffix"), [("'c'", "c"), ("'c', 'cpp'", "cpp")])
def test_advice_names_a_kernel_in_the_project_s_language(tmp_path, languages, suffix):
    (tmp_path / "meson.build").write_text(f"project('mine', {languages})\n")
    said = run(tmp_path)
    assert "Add two lines to meson.build, after project(), and isa_kernels_dep" in said
    assert f"  isa_kernels = files('kernels/one.{suffix}') " in said


def test_advice_does_not_depend_on_where_the_project_lies(tmp_path):
    folder = tmp_path / "isagen" / "mine"
    folder.mkdir(parents=True)
    (folder / "meson.build").write_text(EXISTING.replace("'main.cpp'", "'main.cpp', dependencies: isa_kernels_dep"))
    assert "subdir(" not in run(folder)


def test_own_isa_toml_is_kept(project):
    (project / "isagen").mkdir()
    (project / "isagen" / "isa.toml").write_text("levels = 'none'\n")
    assert "kept     isagen/isa.toml (yours)" in run(project)
    assert (project / "isagen" / "isa.toml").read_text() == "levels = 'none'\n"


def test_file_where_the_fragments_folder_should_be(project):
    (project / "isagen").write_text("a script\n")
    before = tree(project)
    with pytest.raises(NotADirectoryError, match="isagen"):
        run(project)
    assert tree(project) == before


@pytest.mark.parametrize("fragment", ["", "/tmp/x", "..", "../x", "a/../../x", ".", "./", "a b", "a'b", "a\n"])
def test_fragment_must_be_a_folder_inside_the_project(project, fragment):
    refused(project, "--fragment: .* cannot be the fragment's folder", fragment=fragment)


# ---- the fragment


def test_fragment_of_an_older_isagen_is_updated(project):
    run(project)
    path = project / "isagen" / "meson.build"
    newest = path.read_text()
    path.write_text(signed("# an older fragment\n"))
    assert "updated  isagen/meson.build" in run(project)
    assert path.read_text() == newest


@pytest.mark.parametrize(
    "change",
    [
        lambda text: b"# mine\n" + text,
        lambda text: text.replace(b"static_library", b"shared_library"),
        lambda text: text + b"# after the checksum\n",
        lambda text: b"# no checksum at all\n",
        lambda text: b"",
        lambda text: b"# Latin-1: \xe9\n" + text,
    ],
    ids=["before", "inside", "after", "unsigned", "empty", "no UTF-8"],
)
def test_changed_fragment_is_refused_unless_forced(project, change):
    (project / "meson_options.txt").write_text(OPTIONS)
    run(project)
    path = project / "isagen" / "meson.build"
    newest = path.read_bytes()
    changed = change(newest)
    path.write_bytes(changed)
    (project / "isagen" / "isa.toml").unlink()
    (project / "meson_options.txt").write_text(OPTIONS)
    refused(project, r"isagen/meson\.build: was changed since isagen wrote it\n.*--force")
    said = run(project, force=True)
    assert "kept     isagen/meson.build.orig" in said
    assert "updated  isagen/meson.build" in said
    assert path.read_bytes() == newest
    assert (project / "isagen" / "meson.build.orig").read_bytes() == changed


def test_force_without_a_change_keeps_no_copy(project):
    run(project)
    run(project, force=True)
    assert not (project / "isagen" / "meson.build.orig").exists()


def test_line_ends_are_no_change(project):
    run(project)
    path = project / "isagen" / "meson.build"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    run(project)


@pytest.mark.parametrize(
    ("text", "unchanged"),
    [
        (signed("a\n"), True),
        (signed(""), True),
        (signed("a\n").replace("a", "b"), False),
        (signed("a\n") + "b", False),
        ("a\n", False),
        (signed(signed("a\n")), True),
    ],
)
def test_signature(text, unchanged):
    assert is_unchanged(text.encode()) is unchanged


# ---- what else it says


@pytest.mark.parametrize(
    ("url", "folder"),
    [("file:///home/me/an%20isagen", "'/home/me/an isagen'"), ("file:///C:/Users/me/isagen", "C:/Users/me/isagen")],
)
def test_says_how_pip_finds_an_isagen_that_came_from_a_folder(empty, tmp_path, monkeypatch, url, folder):
    install(tmp_path, monkeypatch, url)
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", f"https://example.org/wheels {wheels}")
    said = run(empty)
    assert f"~/.cache/isagen/wheels {folder}\n" in said
    assert (
        said.index("pip wheel --no-deps")
        < said.index("export PIP_FIND_LINKS=")
        < said.index("Build and install it:  pip install ")
    )
    (wheels / "isagen-1.0-py3-none-any.whl").touch()
    assert "pip wheel" not in run(empty)


def test_of_an_isagen_from_elsewhere_it_does_not_say_how_pip_finds_it(empty, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, "https://example.org/isagen.whl")
    assert "pip wheel" not in run(empty)


def install(folder: Path, monkeypatch, url: str) -> None:
    """Add the metadata of an isagen that was installed from `url`."""
    info = folder / "site/isagen-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: isagen\nVersion: 1.0\n")
    (info / "direct_url.json").write_text(json.dumps({"url": url, "dir_info": {}}))
    monkeypatch.syspath_prepend(info.parent)


def test_says_nothing_of_pip_to_a_project_that_is_no_package(empty):
    (empty / "meson.build").write_text("project('p', 'c')\n")
    said = run(empty)
    assert "isa_kernels = files(" in said
    assert "pip" not in said
    assert "pyproject" not in said
