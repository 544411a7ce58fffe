"""Where the fragment finds the copies and the sources of each unit."""

from dataclasses import replace

from isagen.configure.answer import Editor, answer
from isagen.model.plan import MANY, Unit
from support.model import build_of, kernel_row
from support.model import plan_of as plan_of_rows
from support.registrations import plan_for


def plan_of(*sizes):
    units = [Unit(f"u{n}", "L", tuple(f"{n}.{copy}.c" for copy in range(size)), {}) for n, size in enumerate(sizes)]
    return replace(plan_for("kernel"), kernels=(), units=tuple(units))


def test_each_copy_is_found_where_the_answer_says():
    plan = plan_of(20, MANY, 0, 3)
    values = answer(build_of(plan), Editor())
    assert values["copies"] == [copy for unit in plan.units for copy in unit.copies]
    for unit in plan.units:
        first, last = map(int, values[f"{unit.name}_copies"])
        assert tuple(values["copies"][first:last]) == unit.copies
        assert values[f"{unit.name}_sources"] == []


def test_a_source_that_is_compiled_itself_has_no_copies():
    plan = plan_of_rows(["DEFAULT"], [kernel_row(f"{name}.c", {"DEFAULT": f"{name}.c.DEFAULT.c"}) for name in "abc"])
    unit = Unit("u", "DEFAULT", tuple(cell.copy for _, cell in plan.copies()), {})
    plan = replace(plan, units=(unit,))
    kernels = [replace(kernel, object="" if kernel.source == "b.c" else "o.o") for kernel in plan.kernels]
    some = replace(plan, kernels=tuple(kernels))
    values = answer(build_of(some), Editor())
    assert values["copies"] == [cell.copy for cell in plan.kernels[1].cells]
    assert (values[f"{unit.name}_copies"], values[f"{unit.name}_sources"]) == (["0", "1"], ["0", "2"])
    every = replace(plan, kernels=tuple(replace(kernel, object="o.o") for kernel in plan.kernels))
    values = answer(build_of(every), Editor())
    assert (values["copies"], values[f"{unit.name}_copies"], values[f"{unit.name}_sources"]) == (
        [],
        ["0", "0"],
        ["all"],
    )


def test_editors_see_no_sources_whose_objects_meson_would_call_alike():
    sources = ["a/b.c", "a_b.c", "c.c"]
    rows = [kernel_row(name, {"DEFAULT": f"{place}.c.DEFAULT.c"}) for place, name in enumerate(sources)]
    unit = Unit("u", "DEFAULT", tuple(row.cells[0].copy for row in rows), {})
    plan = replace(plan_of_rows(["DEFAULT"], rows), units=(unit,))
    assert answer(build_of(plan), Editor("DEFAULT"))["u_editor"] == ["2"]
