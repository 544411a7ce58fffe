"""isa_levels=native: the levels of the machine that builds, on recorded CPUs, and the builds for another machine."""

import platform
from pathlib import Path

import pytest

from isagen.configure.configure import native_levels
from isagen.configure.request import Request
from isagen.model.errors import ConfigError
from isagen.model.plan import Limit, Verdict
from isagen.processors.table import load_table
from support.plans import cells_of, plan_of
from support.recorded import recorded

TABLE = load_table("x86", Path())
RECORDED = {one.name: one for one in recorded()}
VERDICTS = {(name, "cpp"): Verdict(True, "", (), (), TABLE.required_features(name)) for name in TABLE.names()}


@pytest.fixture(autouse=True)
def on(monkeypatch):
    monkeypatch.setattr("isagen.configure.configure.this_machine", lambda name: RECORDED["haswell"])
    monkeypatch.setattr("isagen.configure.configure.this_cpu_family", lambda: "x86_64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")


def request(levels, system="linux", cpu_family="x86_64"):
    return Request(Path(), Path(), Path(), Path(), cpu_family, system, (), (), levels=levels)


@pytest.mark.parametrize("words", ["native", "Native, -AVX2", "none,+native"])
def test_levels_of_this_machine(words):
    lacking = native_levels(request(words), TABLE, VERDICTS, Limit())
    assert [name for name, features in lacking.items() if not features] == ["DEFAULT", "AVX2"]
    assert "avx_vnni" in lacking["AVX2_VNNI"]
    cells = cells_of(plan_of(TABLE, "a.cpp", option="native", native=lacking))
    assert [name for name, cell in cells.items() if cell.verdict == "built"] == ["DEFAULT", "AVX2"]
    assert cells["AVX2_VNNI"].reason == "by the Meson option isa_levels: this CPU or OS lacks avx_vnni"


def test_what_the_flags_turn_on_counts():
    verdicts = {**VERDICTS, ("AVX2", "c"): Verdict(True, "", (), (), ("avx512_f",))}
    assert native_levels(request("native"), TABLE, verdicts, Limit())["AVX2"] == ("avx512_f",)


@pytest.mark.parametrize("words", ["", "all", "AVX2,-AMX"])
def test_other_words_do_not_ask(words):
    assert native_levels(request(words), TABLE, VERDICTS, Limit()) is None


@pytest.mark.parametrize(("system", "family"), [("linux", "aarch64"), ("windows", "x86_64"), ("darwin", "aarch64")])
def test_a_build_for_another_machine(system, family):
    asked = request("native", system, family)
    with pytest.raises(ConfigError, match="Meson option isa_levels: native") as caught:
        native_levels(asked, TABLE, VERDICTS, Limit())
    assert f"this machine (linux x86_64), and the build is for {system} {family}" in caught.value.message
    assert native_levels(asked, TABLE, VERDICTS, Limit("the baseline alone")) == {}
