"""The objects that Meson compiles, and the copies behind them."""

from isagen.model.objects import CompiledObjects
from isagen.planning.config import KernelConfig
from support.plans import plan_of


def test_a_copy_is_found_by_an_object_whose_name_has_no_colon(table):
    """Of two copies, Meson calls the objects the same, in the folders of two libraries."""
    own = {"k/a:b.c": KernelConfig(None, ("-O3",))}
    plan = plan_of(table, "k/a:b.c", "k/a_b.c", own=own)
    sources = {cell.copy: (cell.level, kernel.source) for kernel, cell in plan.copies()}
    for unit in plan.units:
        (copy,) = unit.copies
        path = f"isagen/lib{unit.name}.a.p/meson-generated_.._a_b.c.{unit.level}.c.o"
        assert CompiledObjects(plan).copy_of(path) == copy
        assert CompiledObjects(plan).kernel_of(path) == sources[copy]
