"""What packagers know from NumPy's options: isa_levels=native, and features joined to a level."""

import re

import pytest

from isagen.probe.compiler import find_compiler
from isagen.processors.table import load_table
from support.checkout import ROOT
from support.cross import TARGETS
from support.levels import ALL, lacks
from support.probing import ask
from support.projects import matrix, need, verdicts


@pytest.mark.smoke
def test_levels_of_this_machine(scaffold):
    said = scaffold.setup("-Disa_levels=native")
    lacking = {level["name"]: lacks(level["features"]) for level in matrix(scaffold)["levels"]}
    assert verdicts(scaffold) == {name: "disabled" if lacking[name] else "built" for name in ALL}
    shown = " ".join(said.split())
    for name in filter(lacking.get, ALL):
        reason = f"by the Meson option isa_levels: this CPU or OS lacks {' '.join(lacking[name])}"
        assert re.search(rf" {name}( \w+)* {re.escape(reason)}", shown)


def test_a_cross_build_for_another_processor(new_project, tmp_path):
    target = TARGETS["riscv64"]
    target.require("gcc")
    cross = str(target.cross_file(tmp_path, "gcc"))
    said = new_project("portable").setup("-Disa_levels=native", "--cross-file", cross, check=False)
    assert (
        "ERROR: Problem encountered: isagen: Meson option isa_levels: native asks for the levels of this machine"
        in said
    )
    assert f"and the build is for linux {target.family}" in said


@pytest.mark.parametrize("compiler", ["g++", "g++-11", "clang++-14", "clang++-16"])
def test_features_joined_to_a_level(tmp_path, compiler):
    """The table of docs/reference.md."""
    need(compiler)
    page = (ROOT / "docs/reference.md").read_text()
    text = next(text for text in re.findall(r"```toml\n(.*?)```", page, re.S) if 'extends = "numpy"' in text)
    (tmp_path / "levels.toml").write_text(text)
    table = load_table("levels.toml", tmp_path)
    assert table.names() == ("DEFAULT", "X86_V2", "X86_V3", "X86_V3_GFNI", "X86_V4", "AVX512_ICL", "AVX512_SPR")
    verdict = ask(table, find_compiler("cpp", [compiler]), level="X86_V3_GFNI")
    assert verdict.available, verdict.reason
    assert {"avx2", "gfni", "avx_vnni"} <= set(verdict.features)
