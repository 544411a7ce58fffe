"""The units of the plan: which copies are compiled together, with which arguments."""

from isagen.planning.config import KernelConfig
from isagen.planning.plan import CopyOptions
from support.plans import level, plan_of, table_of


def test_every_copy_is_in_one_unit(table):
    kernels = ("k/a.c", "k/b.cpp", "l/a.c", "l/m/c.cc", "d.cxx")
    own = {"l/a.c": KernelConfig(("-HUGE",), ("-O3",)), "d.cxx": KernelConfig(("none",))}
    plan = plan_of(table, *kernels, own=own)
    copies = [cell.copy for row in plan.kernels for cell in row.cells if cell.verdict == "built"]
    assert len(set(copies)) == len(copies) == 4 * 3 + 3 + 1
    assert sorted(copy for unit in plan.units for copy in unit.copies) == sorted(copies)
    assert all(f".{unit.level}." in copy for unit in plan.units for copy in unit.copies)


def test_units_part_levels_and_arguments(table):
    own = {"k/c.cpp": KernelConfig(None, ("-O3",))}
    options = CopyOptions(flags={"c": ("-fno-lto",), "cpp": ("-fno-lto", "-fno-gnu-unique")})
    plan = plan_of(table, "k/a.cpp", "k/b.c", "k/c.cpp", "l/d.cpp", levels=("WIDE",), own=own, copy_options=options)
    wide = [unit for unit in plan.units if unit.level == "WIDE"]
    assert [unit.copies for unit in wide] == [
        ("a.cpp.WIDE.cpp", "d.cpp.WIDE.cpp", "b.c.WIDE.c"),
        ("c.cpp.WIDE.cpp",),
    ]
    assert wide[0].args["c"][:2] == ("-fno-lto", "-mWIDE")
    assert wide[0].args["cpp"][:3] == ("-fno-lto", "-fno-gnu-unique", "-mWIDE")
    assert wide[1].args["cpp"][-1] == "-O3"
    assert "-O3" not in wide[0].args["cpp"]


def test_units_of_sources_that_are_copied_whole_have_the_folders_of_near_includes(table):
    plan = plan_of(table, 'k/quo"te.c', "l/b.c", "m/c.c", levels=("WIDE",))
    wide = {unit.copies: unit.args["c"] for unit in plan.units if unit.level == "WIDE"}
    assert wide['quo"te.c.WIDE.c',][0] == "-iquote../k"
    assert not any("-iquote" in arg for arg in wide["b.c.WIDE.c", "c.c.WIDE.c"])


def test_a_unit_keeps_its_name_whatever_other_kernels_do(table):
    def names(*kernels, own):
        units = plan_of(table, *kernels, levels=("WIDE",), own=own).units
        return {unit.copies[0]: unit.name for unit in units}

    before = names("k/a.cpp", "k/b.cpp", own={})
    after = names("k/a.cpp", "k/b.cpp", "x/more.cpp", own={"k/b.cpp": KernelConfig(None, ("-O3",))})
    assert after["a.cpp.WIDE.cpp"] == before["a.cpp.WIDE.cpp"]
    assert after["b.cpp.WIDE.cpp"] != before["a.cpp.WIDE.cpp"]


def test_names_of_units_are_unique_though_a_level_ends_in_a_number(tmp_path):
    table = table_of(tmp_path, level("BASE", 0, 128), level("AVX10", 1, 512), level("AVX10_2", 2, 512))
    plan = plan_of(table, "a/a.c", "b/b.c", "c/c.c")
    names = [unit.name for unit in plan.units]
    assert len(names) == 3
    assert len(set(names)) == 3
