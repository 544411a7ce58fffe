"""Whether a target takes the kernels, read from ninja's file."""

import os
import subprocess

import pytest

from isagen.build.used import is_used
from isagen.configure.tool import write_used_script

OWN = "build isagen/isa_dispatch.cpp: CUSTOM_COMMAND isagen/isa_DEFAULT.json | isagen/isa_plan.conf\n"
COMMAND = " COMMAND = python isa_tool stubs isagen/isa_dispatch.cpp\n"


@pytest.mark.parametrize(
    ("text", "used"),
    [
        (OWN + COMMAND, False),
        (f"{OWN}build core.so.p/isa_dispatch.cpp.o: cpp_COMPILER isagen/isa_dispatch.cpp || isa_dispatch.h\n", True),
        (f"{OWN}build core.so.p/unity0.cpp.o: cpp_COMPILER unity0.cpp || isagen/isa_dispatch.cpp\n", True),
        (f"{OWN}build other.o: cpp_COMPILER other/isagen/isa_dispatch.cpp\n", False),
    ],
)
def test_ninja_file(tmp_path, text, used):
    (tmp_path / "build.ninja").write_text(text)
    assert is_used(tmp_path / "isagen/isa_dispatch.cpp", tmp_path) is used


def test_a_path_that_ninja_quotes(tmp_path):
    (tmp_path / "build.ninja").write_text("build x.o: cpp_COMPILER my$ isa$$/isa_dispatch.c\n")
    assert is_used(tmp_path / "my isa$/isa_dispatch.c", tmp_path)
    assert not is_used(tmp_path / "isa$/isa_dispatch.c", tmp_path)


def test_another_backend_is_not_judged(tmp_path):
    assert is_used(tmp_path / "isagen/isa_dispatch.c", tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="a script of the shell")
@pytest.mark.parametrize(
    ("text", "folder", "starts"),
    [
        (f"{OWN}build core.o: cpp_COMPILER isagen/isa_dispatch.cpp || isa_dispatch.h\n", "isagen", False),
        (f"{OWN}build core.o: cpp_COMPILER_FOR_BUILD isagen/isa_dispatch.cpp\n", "isagen", False),
        (OWN + COMMAND, "isagen", True),
        (f"{OWN}build core.o: cpp_COMPILER isagen/isa_dispatch.cpp.cpp\n", "isagen", True),
        (f"{OWN}build core.o: cpp_COMPILER other/isagen/isa_dispatch.cpp\n", "isagen", True),
        ("build core.o: cpp_COMPILER my$ [isa/isa_dispatch.cpp\n", "my [isa", True),
        (None, "isagen", True),
    ],
)
def test_the_step_starts_where_grep_finds_nothing(tmp_path, text, folder, starts):
    root = tmp_path / "a b"
    (root / folder / "isa_tool").mkdir(parents=True)
    (root / folder / "isa_tool/__main__.py").write_text("import sys; print(*sys.argv[1:], sep='|')\n")
    if text is not None:
        (root / "build.ninja").write_text(text)
    (script,) = write_used_script(root / folder)
    source = f"{folder}/isa_dispatch.cpp"
    environment = os.environ | {"MESON_BUILD_ROOT": str(root)}
    done = subprocess.run([script, source], env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"used|{root}/{source}\n" if starts else "", "")
