"""An extension module that is cross-built for arm64: its name is the target's if Meson is told of its Python."""

import json
import sysconfig
from importlib.metadata import version

import pytest

from isagen.binary.formats import open_binary
from support.checkout import ROOT
from support.cross import TARGETS

TARGET = TARGETS["aarch64"]
# The example of the docs, with headers that are here.
DETAILS = json.loads((ROOT / "docs/arm64.md").read_text().partition("```json\n")[2].partition("```")[0])
DETAILS["c_api"] = {"headers": sysconfig.get_path("include")}


@pytest.fixture
def built(scaffold, tmp_path):
    """Builds the project that `isagen init` makes; returns its extension module and what was said."""
    TARGET.require("gcc")
    # Debian's pyconfig.h includes that of the target, which is not here.
    config = tmp_path / f"aarch64-linux-gnu/python{sysconfig.get_python_version()}/pyconfig.h"
    config.parent.mkdir(parents=True)
    config.write_text(
        f"#include <{sysconfig.get_config_var('MULTIARCH')}/python{sysconfig.get_python_version()}/pyconfig.h>\n"
    )

    def build(*options):
        project = scaffold
        words = [f"-Dcpp_args=-I{tmp_path}", "-Disa_levels=SVE2", *options]
        project.setup("--cross-file", str(TARGET.cross_file(tmp_path, "gcc")), *words)
        said = project.ninja()
        (module,) = project.path("").glob("_core.*.so")
        with open_binary(module) as binary:
            assert binary.architecture.shown == "AArch64"
        return module.name, said

    return build


def test_the_name_of_this_machine_s_python_is_warned_of(built):
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if "-x86_64-linux-" not in suffix:
        pytest.skip(f"this Python names extension modules {suffix}")
    name, said = built()
    assert name == f"_core{suffix}"
    assert said.count(f"isagen: warning: _core{suffix}: is named for x86_64, but built for aarch64") == 1


def test_the_name_of_the_python_that_meson_is_told_of(built, tmp_path):
    if tuple(map(int, version("meson").split(".")[:2])) < (1, 10):
        pytest.skip("Meson before 1.10 has no option python.build_config")
    details = tmp_path / "build-details.json"
    details.write_text(json.dumps(DETAILS))
    name, said = built(f"-Dpython.build_config={details}")
    assert name == "_core.cpython-313-aarch64-linux-gnu.so"
    assert "isagen: warning" not in said
