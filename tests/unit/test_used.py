"""Whether a target takes the kernels, and is audited, read from ninja's file."""

from dataclasses import replace

import pytest

from isagen.build.configured import is_used, unaudited
from isagen.model.names import sealed_name
from isagen.model.ninja import NinjaFile
from isagen.model.plan import BY_TARGETS, LinkAudit
from support.model import build_of, kernel_row, plan_of

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
    assert is_used(tmp_path / "isagen/isa_dispatch.cpp", NinjaFile(tmp_path)) is used


def test_a_path_that_ninja_quotes(tmp_path):
    (tmp_path / "build.ninja").write_text("build x.o: cpp_COMPILER my$ isa$$/isa_dispatch.c\n")
    assert is_used(tmp_path / "my isa$/isa_dispatch.c", NinjaFile(tmp_path))
    assert not is_used(tmp_path / "isa$/isa_dispatch.c", NinjaFile(tmp_path))


def test_a_path_that_ends_in_a_dollar(tmp_path):
    """The blank behind it separates paths."""
    (tmp_path / "build.ninja").write_text("build one$$ | two: cpp_LINKER a$$ b$ c$$.o | d$$ || e\n")
    found = [str(tmp_path / name) for name in ("a$", "b c$.o", "d$", "e")]
    assert NinjaFile(tmp_path).inputs_of(tmp_path / "one$") == NinjaFile(tmp_path).inputs_of(tmp_path / "two") == found


def test_a_path_through_a_symbolic_link(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build/build.ninja").write_text("build one: cpp_LINKER a.o\n")
    (tmp_path / "link").symlink_to("build")
    for root, linked in (("build", "link"), ("link", "build"), ("link", "link")):
        found = NinjaFile(tmp_path / root).inputs_of(tmp_path / linked / "one")
        assert found == [str(tmp_path / root / "a.o")]


def test_another_backend_is_not_judged(tmp_path):
    assert is_used(tmp_path / "isagen/isa_dispatch.c", NinjaFile(tmp_path))


@pytest.mark.parametrize("folder", ["isagen", "my isa$"])
def test_targets_that_are_not_audited(tmp_path, folder):
    """What a static library with a sealed object is linked into counts, too."""
    kernel = kernel_row("k.cpp", {"DEFAULT": "k.cpp.DEFAULT.cpp"})
    build = build_of(plan_of(["DEFAULT"], [kernel]))
    build = replace(build, link_audit=LinkAudit(how=BY_TARGETS))
    object_file = f"{folder.replace('$', '$$').replace(' ', '$ ')}/{sealed_name('k.cpp.DEFAULT.cpp', 'DEFAULT')}"
    (tmp_path / "build.ninja").write_text(
        f"build one.exe: cpp_LINKER one.p/a.o {object_file}\nbuild two.dll | two.dll.a: c_LINKER {object_file}\n"
        f"build lib.a: STATIC_LINKER {object_file}\nbuild three$ files.so: cpp_LINKER a.o {object_file} | b.o\n"
        "build four: c_LINKER a.o\nbuild isagen/audit/isa_audit1: CUSTOM_COMMAND two.dll | /usr/bin/python3\n"
        "build copy: CUSTOM_COMMAND one.exe\nbuild outer.a: STATIC_LINKER b.o | lib.a\n"
        "build five: c_LINKER_RSP a.o | /usr/lib/libm.so outer.a\nbuild all: phony outer.a lib.a five\n"
        f"build lib.p/x-prelink.o: CUSTOM_COMMAND {object_file}\nbuild x.lib: STATIC_LINKER_RSP lib.p/x-prelink.o\n"
        "build six.a: c_LINKER x.lib\n"
    )
    assert unaudited(build, tmp_path / folder, NinjaFile(tmp_path)) == ["one.exe", "five", "three files.so", "six.a"]
    audited = replace(build, link_audit=LinkAudit(how="off"))
    assert unaudited(audited, tmp_path / folder, NinjaFile(tmp_path)) == []
    assert unaudited(build, tmp_path / folder, NinjaFile(tmp_path / "other backend")) == []
