"""The compat headers: which are written, and which are removed again."""

import json

import pytest

from isagen.configure.compat import compat_texts
from isagen.processors.table import load_table
from support.projects import need


def texts(*names, table="ipex", folder):
    return compat_texts(names, load_table(table, folder))


def test_nothing_is_written_unless_asked_for(tmp_path, scaffold):
    assert texts(folder=tmp_path) == {}
    scaffold.setup()
    assert not scaffold.path("isagen/isa_compat").exists()


@pytest.mark.parametrize("meson", ["meson", "/usr/bin/meson"])
def test_kernels_and_users_see_the_headers(scaffold, meson):
    """Configuring again for another `compat` changes the headers. Debian 12's Meson is the oldest supported."""
    need(meson)
    scaffold.edit("isagen/isa.toml", 'table = "default"', 'table = "default"\ncompat = "aten"')
    said = scaffold.run(meson, "setup", scaffold.build).stdout
    assert "WARNING" not in said
    commands = json.loads(scaffold.path("compile_commands.json").read_text())
    for source in ("core.cpp", "dot.cpp.AVX2.cpp"):
        assert all("-Iisagen/isa_compat " in c["command"] for c in commands if c["file"].endswith(source))
    assert scaffold.path("isagen/isa_compat/ATen/native/DispatchStub.h").is_file()
    scaffold.edit("isagen/isa.toml", 'compat = "aten"', 'compat = "ipex"')
    scaffold.ninja()
    assert scaffold.path("isagen/isa_compat/dyndisp/DispatchStub.h").is_file()
    assert not scaffold.path("isagen/isa_compat/ATen/native/DispatchStub.h").exists()
