"""The plan of one set of kernels among others, and of generated kernels."""

from dataclasses import replace

import pytest

from isagen.model.errors import ConfigError
from isagen.planning.config import KernelConfig, load_config
from support.plans import plan_of


def test_the_copies_of_two_sets_have_other_names(table):
    plans = [plan_of(table, "k/dot.c", kernel_set=name) for name in ("", "one", "two")]
    copies = [{cell.copy for _, cell in plan.copies()} for plan in plans]
    units = [{unit.name for unit in plan.units} for plan in plans]
    for found in (copies, units):
        assert len(set.union(*found)) == sum(map(len, found))


def test_isa_toml_may_name_a_kernel_of_another_set(table):
    own = {"k/far.c": KernelConfig(args=("-g",))}
    assert plan_of(table, "k/dot.c", own=own, other_kernels=("k/far.c",)).kernels[0].args == ()


def test_a_set_s_own_list_of_levels_is_named(table, tmp_path):
    (tmp_path / "isa.toml").write_text("[sets]\none.levels = '-HUGE'\ntwo = {}\n")
    project = load_config(tmp_path / "isa.toml")
    reasons = {}
    for name in ("one", "two"):
        config = project.of_set(name, ["one", "two"])
        plan = plan_of(table, "k/dot.c", config=config, kernel_set=name)
        reasons[name] = {cell.level: cell.reason for cell in plan.kernels[0].cells if cell.verdict == "disabled"}
    assert reasons == {"one": {"HUGE": "by isa.toml: sets.one.levels"}, "two": {}}
    wrong = replace(project.of_set("one", ["one", "two"]), levels=("HUGGE",))
    with pytest.raises(ConfigError, match=r"isa\.toml: sets\.one\.levels: unknown level 'HUGGE'"):
        plan_of(table, "k/dot.c", config=wrong)


def test_a_generated_kernel_is_found_in_the_build_folder(table):
    plan = plan_of(table, "k/made.c", "k/dot.c", generated={"k/made.c": "part/k/made.c"})
    made, dot = plan.kernels
    assert (made.shown_path, made.generated) == ("part/k/made.c", True)
    assert (dot.shown_path, dot.generated) == ("../k/dot.c", False)
    folders = {unit.copies[0]: unit.args["c"][:2] for unit in plan.units if unit.level == table.lowest.name}
    assert folders["made.c." + table.lowest.name + ".c"] == ("-iquotepart/k", "-iquote../k")
