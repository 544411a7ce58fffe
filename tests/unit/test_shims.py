"""Fortran and assembly in the plan: each level has a shim that registers them."""

import re

import pytest

from isagen.model.errors import ConfigError
from isagen.model.plan import Verdict
from isagen.planning.config import KernelConfig
from support.plans import cells_of, plan_of, verdicts_of

SHIMMED = KernelConfig(header="s.h", register={"dot_stub": "dot"})


@pytest.mark.parametrize("source", ["k/dot.f90", "k/dot.S"])
def test_fortran_and_assembly_have_a_shim_at_each_level(table, source):
    plan = plan_of(table, source, own={source: SHIMMED})
    (kernel,) = plan.kernels
    assert (kernel.header, kernel.registers) == ("s.h", {"dot_stub": "dot"})
    suffix = source.rpartition(".")[2]
    wide = cells_of(plan)["WIDE"]
    assert (wide.copy, wide.shim) == (f"dot.{suffix}.WIDE.{suffix}", f"dot.{suffix}.stubs.WIDE.c")
    assert [cell.copy for _, cell in plan.copies() if cell.level == "WIDE"] == [wide.copy, wide.shim]
    assert wide.shim in plan.shims()
    (unit,) = (unit for unit in plan.units if unit.level == "WIDE")
    assert unit.copies == (wide.copy, wide.shim)
    assert unit.args["c"][:2] == ("-iquote../k", "-mWIDE")
    if suffix == "f90":
        assert unit.args["fortran"][:2] == ("-I../k", "-mWIDE")


@pytest.mark.parametrize("own", [KernelConfig(), KernelConfig(register={"dot_stub": "dot"})])
def test_c_and_cpp_have_none(table, own):
    assert not plan_of(table, "a.c", "b.cpp", own={"a.c": own, "b.cpp": own}).shims()


def test_a_shim_where_c_is_not_available_has_no_flags_of_the_level(table):
    verdicts = verdicts_of(table, HUGE_c=Verdict(False, "too old", ("-mHUGE",)))
    plan = plan_of(table, "k/dot.f90", own={"k/dot.f90": SHIMMED}, verdicts=verdicts)
    (unit,) = (unit for unit in plan.units if unit.level == "HUGE")
    assert "-mHUGE" in unit.args["fortran"]
    assert "-mHUGE" not in unit.args["c"]
    assert "-DCPU_CAPABILITY=HUGE" in unit.args["c"]


def test_the_c_of_a_unit_has_the_arguments_of_its_kernels(table):
    """A shim may be in a unit with C kernels, whose arguments it then takes."""
    own = {
        "k/dot.f90": KernelConfig(None, ("-O1",), "s.h", {"dot_stub": "dot"}),
        'k/"sum".c': KernelConfig(None, ("-O1",)),
    }
    plan = plan_of(table, "k/dot.f90", 'k/"sum".c', own=own)
    for unit in plan.units:
        assert unit.args["c"][-1] == "-O1"
        assert unit.args["fortran"][-1] == "-O1"


def test_without_the_seal_fortran_and_assembly_have_the_lowest_level(table):
    plan = plan_of(table, "a.f90", "b.S", "c.c", sealed=False)
    for number, built in enumerate((["BASE"], ["BASE"], table.names())):
        assert [cell.level for cell in plan.kernels[number].cells if cell.copy] == list(built)
    assert "isa_seal" in cells_of(plan)["WIDE"].reason


@pytest.mark.parametrize(
    ("source", "key", "own", "message"),
    [
        ("a.f90", "a.f90", KernelConfig(register={"x": "f"}), "isa.toml: kernels.'a.f90'.register: needs the header"),
        ("a.S", "*.S", KernelConfig(register={"x": "f"}), "isa.toml: kernels.'*.S'.register: needs the header that"),
        ("a.S", "*", KernelConfig(header="s.h", register={"x": "n::f"}), "kernels.'*'.register.x: 'n::f' is no symbol"),
    ],
)
def test_what_cannot_be_registered(table, source, key, own, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        plan_of(table, source, own={key: own})
