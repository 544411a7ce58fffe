"""Whether a target takes the kernels, read from ninja's file."""

import pytest

from isagen.build.configured import is_used

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
