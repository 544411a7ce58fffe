"""`isagen init`: the package's name, given by --name or made of the folder's."""

from pathlib import Path

import pytest

from isagen.project.init import package_name
from support.init import refused, run

USED = "Python, its standard library or the project uses this name"


@pytest.fixture
def empty(tmp_path) -> Path:
    folder = tmp_path / "hello-isa"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("plain", "plain"),
        ("My-Kernels 2", "my_kernels_2"),
        ("a.b--c", "a_b_c"),
        ("_private_", "private"),
        ("ÄÖ größe", "ao_groe"),
        ('l\'été & "co"', "l_ete_co"),
    ],
)
def test_package_name_of_a_folder(tmp_path, folder, name):
    (tmp_path / folder).mkdir()
    assert package_name(None, tmp_path / folder) == name
    assert package_name(name, tmp_path) == name
    run(tmp_path / folder)
    assert (tmp_path / folder / "src" / name / "__init__.py").is_file()


@pytest.mark.parametrize("folder", ["2fast", "日本", "-", "class", "isagen", "Kernels", "src", "build"])
def test_a_folder_that_cannot_name_a_package(tmp_path, folder):
    (tmp_path / folder).mkdir()
    refused(tmp_path / folder, "--name: .* cannot name the package")


def test_package_name_of_the_folder_one_is_in(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert package_name(None, Path()) == "here"


@pytest.mark.parametrize("name", ["", "a-b", "2a", "a b", "class", "kernels", "isagen", "grün", "a.b", "a/b", "a\n"])
def test_name_that_cannot_be(empty, name):
    refused(empty, "--name: .* cannot name the package", name=name)


@pytest.mark.parametrize(
    ("name", "reason", "remedy"),
    [
        ("class", USED, "take another name: class_package"),
        ("json", USED, "take another name: json_package"),
        ("kernels", USED, "take another name: kernels_package"),
        ("a-b", "it is no name in Python", "use letters, digits and _, and start with a letter"),
    ],
)
def test_name_that_cannot_be_says_why(empty, name, reason, remedy):
    refused(empty, f"^--name: '{name}' cannot name the package: {reason}\n  {remedy}$", name=name)
