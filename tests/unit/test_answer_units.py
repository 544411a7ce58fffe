"""Where the fragment finds the copies and the sources of each unit."""

from dataclasses import replace

from isagen.configure.answer import answer
from isagen.model.plan import Unit
from support.model import build_of
from support.registrations import plan_for


def plan_of(*sizes):
    units = [Unit(f"u{n}", "L", tuple(f"{n}.{copy}.c" for copy in range(size)), {}) for n, size in enumerate(sizes)]
    return replace(plan_for("kernel"), kernels=(), units=tuple(units))


def test_each_copy_is_found_where_the_answer_says():
    plan = plan_of(20, 2000, 0, 3)
    values = answer(build_of(plan))
    assert values["emitted"] == ["isa_dispatch.c", *(copy for unit in plan.units for copy in unit.copies)]
    for unit in plan.units:
        start, end = map(int, values[f"{unit.name}_copies"])
        assert values["emitted"][start:end] == list(unit.copies)


def test_units_of_a_language_have_its_precompiled_header():
    plan = plan_for("kernel")
    units = (Unit("u", "AVX2", (), {"c": ("-O3",)}), Unit("v", "AVX2", (), {"cpp": ("-O2",)}))
    values = answer(build_of(replace(plan, kernels=(), units=units)), folder="isagen", precompiled=("c",))
    assert (values["u_pch"], values["v_pch"]) == (["c"], [])
    assert values["u_c_args"] == ["-iquoteisagen/libu.a.p", "-O3"]
