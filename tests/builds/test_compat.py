"""Headers that stand in for those of others: what is written, and what is taken away again."""

import json

import pytest
from conftest import need

from isagen.compat import COMPAT, compat_texts, write_compat
from isagen.table import load_table


def texts(*names, table="ipex", folder):
    return compat_texts(names, load_table(table, folder))


def test_nothing_is_written_unless_asked_for(tmp_path, scaffold):
    assert texts(folder=tmp_path) == {}
    scaffold.setup()
    assert not scaffold.path("isagen/isa_compat").exists()


@pytest.mark.parametrize("meson", ["meson", "/usr/bin/meson"])
def test_kernels_and_users_see_the_headers(scaffold, meson):
    """And configuring again for another `compat` changes what is there. Debian 12's Meson is the oldest supported."""
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


@pytest.mark.parametrize("name", COMPAT)
def test_every_header_includes_the_one_that_is_generated(tmp_path, name):
    found = texts(name, folder=tmp_path)
    assert set(found) == {"isa_torch.h", *COMPAT[name][1]}
    write_compat(found, tmp_path)
    for path in COMPAT[name][1]:
        include = found[path].split('#include "')[1].split('"')[0]
        assert ((tmp_path / path).parent / include).resolve() == (tmp_path / "isa_torch.h").resolve()


def test_only_what_is_asked_for_is_defined(tmp_path):
    ipex = texts("ipex", folder=tmp_path)["isa_torch.h"]
    aten = texts("aten", folder=tmp_path)["isa_torch.h"]
    both = texts("ipex", "aten", folder=tmp_path)["isa_torch.h"]
    for text, has_ipex, has_aten in ((ipex, True, False), (aten, False, True), (both, True, True)):
        assert ("#define IPEX_DECLARE_DISPATCH(" in text) == has_ipex
        assert ("using namespace c10;" in text) == has_ipex
        assert ("#define DECLARE_DISPATCH(" in text) == has_aten
        assert "It is the project's own" in text


def test_levels_as_ipex_and_aten_call_them(tmp_path):
    text = texts("ipex", "aten", folder=tmp_path)["isa_torch.h"]
    assert "AVX512_BF16 = ISA_LEVEL_AVX512_BF16," in text
    assert "case ISA_LEVEL_AVX2_VNNI:\n    return CPUCapability::AVX2;" in text
    assert "case ISA_LEVEL_AMX:\n    return CPUCapability::AVX512;" in text
    assert "case ISA_LEVEL_DEFAULT:\n    return CPUCapability::AVX2;" in text  # the ipex table compiles it as AVX2
    plain = texts("aten", table="x86", folder=tmp_path)["isa_torch.h"]
    assert "case ISA_LEVEL_DEFAULT:\n    return CPUCapability::DEFAULT;" in plain


def test_what_is_no_longer_asked_for_is_removed_and_the_rest_left_alone(tmp_path):
    write_compat(texts("ipex", "aten", folder=tmp_path), tmp_path)
    shim = tmp_path / "dyndisp/DispatchStub.h"
    before = shim.stat().st_mtime_ns
    write_compat(texts("ipex", folder=tmp_path), tmp_path)
    assert shim.stat().st_mtime_ns == before
    assert not (tmp_path / "ATen/native/DispatchStub.h").exists()
    write_compat({}, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
