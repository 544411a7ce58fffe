"""The plan and the registrations as files: reading returns what was written, and damage is one clear error."""

import json
from dataclasses import asdict, replace

import pytest

from isagen.cli import main
from isagen.model.codec import from_data
from isagen.model.errors import PlanError
from isagen.model.names import copy_of_object, plan_name, sealed_name
from isagen.model.plan import Build, LinkAudit, Unit
from isagen.model.plan_file import (
    PLAN_FORMAT,
    file_text,
    find_plans,
    read_plan,
    read_registrations,
)
from isagen.model.record import Allowance
from support.model import build_of, kernel_row, plan_of, record_of, registered_at

LEVELS = ("DEFAULT", "AVX2")


def whole_build() -> Build:
    """A build in which every field has a value that is not empty."""
    kernels = [kernel_row("k/ä b.cpp", {"DEFAULT": "ä b.cpp.DEFAULT.cpp", "AVX2": ""})]
    unit = Unit("isa_DEFAULT__1", "DEFAULT", ("ä b.cpp.DEFAULT.cpp",), {"cpp": ("-iquote", '"', "\\")})
    plan = replace(plan_of(LEVELS, kernels), units=(unit,), override="X_ISA")
    level = replace(
        plan.levels[1], flags={"cpp": ("-mavx2",)}, dropped={"cpp": (("-mx", "no"),)}, requires=("DEFAULT",)
    )
    plan = replace(plan, levels=(plan.levels[0], level))
    record = record_of(levels={"AVX2": ("avx2",)}, allow=(Allowance("f*", "why"),), baseline=("sse2",))
    return replace(build_of(plan, record), link_audit=LinkAudit("error", "a test", {"ld": "/usr/bin/ld"}), lto=True)


def test_a_plan_that_is_written_is_read(tmp_path):
    path = tmp_path / plan_name()
    path.write_text(file_text(whole_build()), encoding="utf-8")
    assert read_plan(path) == whole_build()


def test_registrations_that_are_written_are_read(tmp_path):
    found = registered_at("AVX2", {"counter": "1 (8 bytes)"}, a="dot -sum", b="")
    (tmp_path / "isa_AVX2.json").write_text(file_text(found))
    assert read_registrations(tmp_path / "isa_AVX2.json") == found


def test_names_that_are_not_utf_8_are_written_and_read(tmp_path):
    found = registered_at("AVX2", {"count\udcff": "1 (8 bytes)"}, a="dot")
    (tmp_path / "isa_AVX2.json").write_bytes(file_text(found).encode())
    assert read_registrations(tmp_path / "isa_AVX2.json") == found
    build = replace(whole_build(), system="\udc80 ä")
    (tmp_path / plan_name()).write_bytes(file_text(build).encode())
    assert read_plan(tmp_path / plan_name()) == build


@pytest.mark.parametrize("format_", [PLAN_FORMAT - 1, PLAN_FORMAT + 1, None, "3", True])
def test_a_plan_of_another_format(tmp_path, format_):
    path = tmp_path / plan_name()
    path.write_text(json.dumps({**json.loads(file_text(whole_build())), "format": format_}))
    with pytest.raises(
        PlanError,
        match=rf"isa_plan\.json: cannot be read: it is of format .* reads format {PLAN_FORMAT}.*\n.*--reconfig",
    ):
        read_plan(path)


@pytest.mark.parametrize("format_", [1, 2, 99])
def test_isagen_matrix_says_that_a_plan_is_of_another_format(tmp_path, capsys, format_):
    """As isagen 0.1 left them: format 2, with other keys."""
    (tmp_path / plan_name()).write_text(json.dumps({"format": format_, "isagen": "0.1.0", "levels": []}))
    assert main(["matrix", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"isagen: error: {tmp_path}/{plan_name()}: cannot be read: it is of format {format_}, ")
    assert "meson setup --reconfigure" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.pop("plan"), "'plan'"),
        (lambda data: data.update(more=1), "'more'"),
        (lambda data: data.update(lto="yes"), "a value is str, not bool"),
        (lambda data: data["plan"]["levels"][0].update(rank=True), "a value is bool, not int"),
        (lambda data: data["plan"]["levels"][1]["dropped"]["cpp"][0].append("x"), "longer"),
        (lambda data: data["plan"]["kernels"][0]["cells"][0].update(flags=[1]), "a value is int, not str"),
        (lambda data: data["plan"]["kernels"][0]["cells"][0].update(flags=-1), "a value is int, not list"),
        (lambda data: data["plan"].update(kernels={}), "a value is dict, not list"),
    ],
)
def test_a_damaged_plan(tmp_path, change, said):
    data = json.loads(file_text(whole_build()))
    change(data)
    (tmp_path / plan_name()).write_text(json.dumps(data))
    with pytest.raises(PlanError, match=f"cannot be read: it is no Build: .*{said}"):
        read_plan(tmp_path / plan_name())


@pytest.mark.parametrize("content", [b"", b"[]", b"3", b"{", b"\xff", b"null", b"[" * 100_000])
def test_a_plan_that_is_no_object(tmp_path, content):
    (tmp_path / plan_name()).write_bytes(content)
    with pytest.raises(PlanError, match="cannot be read: "):
        read_plan(tmp_path / plan_name())


def test_values_are_built_from_data_as_their_types_say():
    build = whole_build()
    assert from_data(Build, json.loads(json.dumps(asdict(build)))) == build


def test_plans_are_found_but_not_in_the_tool(tmp_path):
    for folder in ("a", "b/c", "isa_tool", "x.p"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / plan_name()).touch()
    assert find_plans(tmp_path) == [tmp_path / "a" / plan_name(), tmp_path / "b/c" / plan_name()]


def test_names_of_copies_and_objects_fit_together():
    copy = "softmax.cpp.AVX512_BF16.cpp"
    assert copy_of_object(f"meson-generated_.._{copy}.o") == copy
    assert copy_of_object(f"{copy}.obj") == copy
    assert sealed_name(copy, "AVX512_BF16") == "isa_AVX512_BF16.softmax.cpp.o"
