"""Headers of the project that shadow those of `compat`."""

from pathlib import Path

import pytest

from isagen.configure.compat import check_shadows
from isagen.model.errors import ConfigError
from isagen.planning.config import Config

KERNEL = "csrc/cpu/aten/kernels/AddSwish.cpp"
IPEX, ATEN = "csrc/cpu/dyndisp/DispatchStub.h", "ATen/native/DispatchStub.h"


def check(root: Path, *compat: str, kernel: str = KERNEL) -> None:
    check_shadows(Config(root / "isagen/isa.toml", compat=compat), [kernel], root)


def write(path: Path, text: str = "#pragma once\n") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("compat", "header"),
    [
        ("ipex", IPEX),
        ("ipex", "csrc/cpu/aten/dyndisp/DispatchStub.h"),
        ("ipex", "csrc/cpu/aten/kernels/dyndisp/DispatchStub.h"),
        ("aten", ATEN),
        ("aten", f"csrc/cpu/{ATEN}"),
    ],
)
def test_a_header_beside_or_above_a_kernel_is_named(tmp_path, compat, header):
    write(tmp_path / header)
    other = {"ipex": "aten", "aten": "ipex"}[compat]
    check(tmp_path)
    check(tmp_path, other)
    with pytest.raises(ConfigError) as caught:
        check(tmp_path, other, compat)
    assert caught.value.where == "isa.toml: compat"
    assert f"'{compat}' gives a header in the place of {header}, but" in caught.value.message
    assert f"delete {header} and its source file, " in caught.value.remedy
    assert f"to keep both, remove '{compat}' from compat" in caught.value.remedy


def test_headers_that_no_kernel_s_folder_leads_to_are_no_matter(tmp_path):
    for header in (f"third_party/{ATEN}", "csrc/gpu/dyndisp/DispatchStub.h", "csrc/cpu/dyndisp/other.h"):
        write(tmp_path / header)
    write(tmp_path.parent / IPEX)  # outside the project
    check(tmp_path, "ipex", "aten")


@pytest.mark.parametrize("include", ['#include "isa_torch.h"', "  #  include <../isa_torch.h>"])
def test_a_header_that_passes_on_to_isagen_s_own_may_stay(tmp_path, include):
    write(tmp_path / IPEX, f"#pragma once\n{include}\n")
    check(tmp_path, "ipex")
    write(tmp_path / IPEX, "#pragma once\n// not isa_torch.h\n")
    with pytest.raises(ConfigError):
        check(tmp_path, "ipex")
