"""The texts of the compat headers."""

import pytest

from isagen.configure.compat import COMPAT, compat_texts
from isagen.model.files import replace_files
from isagen.processors.table import load_table


def texts(*names, table="ipex", folder):
    return compat_texts(names, load_table(table, folder))


@pytest.mark.parametrize("name", COMPAT)
def test_every_header_includes_the_one_that_is_generated(tmp_path, name):
    found = texts(name, folder=tmp_path)
    assert set(found) == {"isa_torch.h", *COMPAT[name][1]}
    replace_files(found, tmp_path)
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
    arm64 = texts("aten", table="aten-arm64", folder=tmp_path)["isa_torch.h"]
    assert all(f"case ISA_LEVEL_{one}:\n    return CPUCapability::{one};" in arm64 for one in ("SVE128", "SVE256"))


def test_what_is_no_longer_asked_for_is_removed_and_the_rest_left_alone(tmp_path):
    replace_files(texts("ipex", "aten", folder=tmp_path), tmp_path)
    shim = tmp_path / "dyndisp/DispatchStub.h"
    before = shim.stat().st_mtime_ns
    replace_files(texts("ipex", folder=tmp_path), tmp_path)
    assert shim.stat().st_mtime_ns == before
    assert not (tmp_path / "ATen/native/DispatchStub.h").exists()
    replace_files({}, tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
