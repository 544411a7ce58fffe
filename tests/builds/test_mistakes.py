"""Mistakes that configuring finds: each ends in one message that names file or key, and the remedy.

`tests/unit/test_doctor.py` has those that only `isagen doctor` can name.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import isagen
from isagen.configure.request import FRAGMENT_FORMAT

FILES = "files('kernels/dot.cpp', 'kernels/level.cpp')"
NEWER = FRAGMENT_FORMAT + 4

# What is wrong, the edits (file, old, new; a new of None removes the file), and what Meson says.
CONFIGURING = {
    "isa_kernels is not set": (
        [("meson.build", f"isa_kernels = {FILES}\n", "")],
        "isagen: meson.build: isa_kernels is not set: write isa_kernels = files('kernels/one.cpp') before "
        "subdir('isagen')",
    ),
    "strings": (
        [("meson.build", FILES, "['kernels/dot.cpp', 'kernels/level.cpp']")],
        "isagen: isa_kernels: kernels/dot.cpp: is a string: name kernels with files(), "
        "such as files('kernels/one.cpp'), with paths from the folder of the meson.build that sets isa_kernels",
    ),
    "strings from the fragment's folder": (
        [("meson.build", FILES, "['../kernels/dot.cpp']")],
        "isagen: isa_kernels: ../kernels/dot.cpp: is a string: name kernels with files(), ",
    ),
    "no isa.toml": (
        [("isagen/isa.toml", "", None)],
        "isagen: isagen/isa.toml: there is no such file: run `isagen init`, which writes it, and commit it",
    ),
    "no options file": (  # Meson's own message; the line that it names says who declares the options
        [("meson_options.txt", "", None)],
        "ERROR: Option isa_levels does not exist.",
    ),
    "a fragment of a later version": (
        [("isagen/meson.build", f"--fragment-format={FRAGMENT_FORMAT}", f"--fragment-format={NEWER}")],
        f"isagen/meson.build: the Meson fragment was not written by isagen {isagen.__version__}, which writes format "
        f"{FRAGMENT_FORMAT}: its format is {NEWER}\n  run `isagen init` in the project to rewrite it, and commit it; "
        "or, if a later isagen wrote it, update isagen: pip install --upgrade isagen",
    ),
    "a fragment whose arguments are others": (
        [("isagen/meson.build", "'--source-root=' + meson.global_source_root(),", "")],
        f"isagen: isagen/meson.build: the Meson fragment was not written by isagen {isagen.__version__}, which writes "
        f"format {FRAGMENT_FORMAT}: its format is {FRAGMENT_FORMAT}\n  run `isagen init` in the project to rewrite it",
    ),
    "the table of another name": (
        [("isagen/isa.toml", 'table = "default"', 'table = "x68"')],
        "isa.toml: table: there is no table 'x68'\n  did you mean 'x86'?",
    ),
}


@pytest.mark.parametrize(("edits", "expected"), CONFIGURING.values(), ids=CONFIGURING)
def test_configuring(scaffold, edits, expected):
    for file, old, new in edits:
        if new is None:
            (scaffold.folder / file).unlink()
        else:
            scaffold.edit(file, old, new)
    said = scaffold.setup(check=False)
    assert expected in said
    assert said.count("ERROR") == 1
    assert "Traceback" not in said


def test_an_empty_list_of_levels(scaffold):
    """The reader of -Disa_levels= would expect no level above the lowest, and got all."""
    said = scaffold.setup("-Disa_levels=", check=False)
    assert "isagen: Meson option isa_levels: is empty: use all, or none for only the lowest level" in said


def test_options_in_a_file_that_this_meson_does_not_read(scaffold):
    """Meson 1.0 reads meson_options.txt alone."""
    meson = "/usr/bin/meson"
    old = scaffold.run("/usr/bin/python3", meson, "--version", check=False).stdout.strip()
    if not re.fullmatch(r"1\.0\.\d+", old):
        pytest.skip("the system has no Meson 1.0")
    (scaffold.folder / "meson_options.txt").rename(scaffold.folder / "meson.options")
    native = scaffold.folder / "native.ini"
    native.write_text(f"[binaries]\npython = '{sys.executable}'\n")
    command = ["/usr/bin/python3", meson, "setup", "build", "--native-file", str(native)]
    said = scaffold.run(*command, check=False).stdout
    assert re.search("isagen/meson.build:.*isa_levels", said)


# ---- the Python that runs isagen


def python_of(project, path):
    """The option that makes Meson find the Python at `path`, and no other."""
    native = project.folder / "native.ini"
    native.write_text(f"[binaries]\npython = '{path}'\npython3 = '{path}'\n")
    return ["--native-file", str(native)]


def old_python():
    found = [shutil.which("python3.10"), *map(str, sorted(Path.home().glob(".pyenv/versions/3.10.*/bin/python3.10")))]
    for path in filter(None, found):
        if subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip("there is no Python 3.10")


def test_isagen_missing_where_meson_looks(scaffold, tmp_path):
    scaffold.run("python3", "-m", "venv", "--without-pip", str(tmp_path / "bare"))
    said = scaffold.setup(*python_of(scaffold, tmp_path / "bare/bin/python"), check=False)
    assert f"{tmp_path}/bare/bin/python" in said
    assert (
        'isagen: is not installed for the Python above, or that is older than 3.11: add "isagen" to '
        "build-system.requires in pyproject.toml; without build isolation, run pip install isagen with that Python"
    ) in said
    assert said.count("ERROR") == 1


def test_an_old_python(scaffold):
    said = scaffold.setup(*python_of(scaffold, old_python()), check=False)
    assert "isagen: is not installed for the Python above, or that is older than 3.11: " in said
    assert said.count("ERROR") == 1
    assert "status 1" not in said


# ---- targets


def test_a_source_of_a_target_among_the_kernels(scaffold):
    said = scaffold.setup()
    assert "is in isa_kernels" not in said
    scaffold.edit("meson.build", "'src/core.cpp'", "'src/core.cpp', 'kernels/level.cpp'")
    said = scaffold.setup("--reconfigure")
    assert (
        "isagen: warning: meson.build: kernels/level.cpp is in isa_kernels, and a target compiles it too\n"
        "  remove it from one of them, unless the target is a tool of the build (native: true)"
    ) in said
    assert said.count("a target compiles it too") == 1


def test_the_source_of_a_python_module_among_the_kernels(scaffold):
    with (scaffold.folder / "kernels/level.cpp").open("a") as stream:
        stream.write('extern "C" void *PyInit_level();\nextern "C" void *PyInit_level() { return nullptr; }\n')
    scaffold.setup()
    assert (
        "isagen: error: PyInit_level: kernels/level.cpp defines a Python module, but kernels are compiled once per "
        "level\n  name it in the sources of the target: py.extension_module('NAME', 'kernels/level.cpp', ...)"
    ) in scaffold.ninja(check=False)


NO_TARGET = (
    "isagen: warning: meson.build: no target takes isa_kernels_dep: no kernel is linked\n"
    "  give a target dependencies: isa_kernels_dep\n"
)


def test_no_target_takes_the_kernels(scaffold):
    options = ["-Disa_levels=none"]
    assert "isa_kernels_dep" not in scaffold.setup(*options)
    scaffold.edit("meson.build", "  dependencies: isa_kernels_dep,\n", "")
    said = scaffold.setup("--reconfigure", *options)
    assert NO_TARGET in said


def test_a_target_with_the_headers_alone(scaffold):
    """Its sources find isa_dispatch.h. The linker's error names the dependency that the target lacks."""
    scaffold.edit("meson.build", "dependencies: isa_kernels_dep", "dependencies: isa_headers_dep")
    assert NO_TARGET in scaffold.setup("-Disa_levels=none")
    assert re.search("undefined.*isa_needs_isa_kernels_dep_and_ISA_REGISTER_DISPATCH_for_", scaffold.ninja(check=False))


def test_a_source_of_a_dependency_is_not_linked(new_project):
    """Each level compiles it, and none of its objects is sealed and linked."""
    project = new_project("portable")
    (project.folder / "helper.c").write_text("int helper(void);\nint helper(void) { return 0; }\n")
    project.edit("kernels/scale.c", "static const", "int helper(void);\nstatic const")
    project.edit("kernels/scale.c", "*= factor", "*= factor + helper()")
    dependency = "isa_dependencies = [declare_dependency(sources: files('helper.c'))]\nsubdir('isagen')"
    project.edit("meson.build", "subdir('isagen')", dependency)
    project.setup("-Disa_levels=AVX2")
    said = "isagen: error: helper: a source of isa_dependencies defines this function at each level: DEFAULT, AVX2\n"
    assert said in project.ninja(check=False)
