"""Levels that the baseline contains: which copies are left out, and what isa_require makes of it."""

import pytest

from isagen.model.errors import ConfigError
from isagen.model.plan import Verdict
from isagen.planning.config import KernelConfig
from isagen.planning.levels import check_required
from support.plans import cells_of, level, plan_of, table_of, verdicts_of


@pytest.mark.parametrize(
    ("baseline", "left_out"),
    [
        ((), []),
        (("avx2",), []),
        (("avx2", "avx_vnni"), ["WIDE"]),
        (("avx2", "avx512_f"), ["WIDE"]),
        (("avx2", "avx_vnni", "avx512_f"), ["WIDE", "WIDE_VNNI"]),
        (("avx2", "avx_vnni", "avx512_f", "sha"), ["WIDE", "WIDE_VNNI"]),
    ],
)
def test_the_lowest_and_the_best_are_left(table, baseline, left_out):
    cells = cells_of(plan_of(table, "a.c", baseline=baseline))
    assert [name for name, cell in cells.items() if cell.verdict != "built"] == left_out
    best = "HUGE" if "avx512_f" in baseline else "WIDE_VNNI"
    for name in left_out:
        assert cells[name].reason == f"the baseline contains it, and {best}, which runs in its place"
        assert not cells[name].copy


def test_levels_above_the_baseline_are_built(tmp_path):
    table = table_of(
        tmp_path,
        level("BASE", 0, 128),
        level("A", 1, 256, "avx"),
        level("B", 2, 256, "avx2", "A"),
        level("C", 3, 512, "avx512_f", "B"),
    )
    cells = cells_of(plan_of(table, "a.c", baseline=("avx", "avx2")))
    assert [cell.verdict for cell in cells.values()] == ["built", "disabled", "built", "built"]


def test_each_kernel_keeps_the_best_of_its_own_levels(table):
    own = {"a.c": KernelConfig(("-HUGE",)), "b.c": KernelConfig(("BASE", "WIDE"))}
    plan = plan_of(table, "a.c", "b.c", "c.c", own=own, baseline=("avx2", "avx_vnni", "avx512_f"))
    built = [[cell.level for cell in kernel.cells if cell.verdict == "built"] for kernel in plan.kernels]
    assert built == [["BASE", "WIDE_VNNI"], ["BASE", "WIDE"], ["BASE", "HUGE"]]


def test_a_level_that_cannot_be_built_stands_in_for_none(table):
    verdicts = verdicts_of(table, HUGE=Verdict(False, "too old"), WIDE_VNNI=Verdict(False, "too old"))
    cells = cells_of(plan_of(table, "a.c", verdicts=verdicts, baseline=("avx2", "avx_vnni", "avx512_f")))
    assert cells["WIDE"].verdict == "built"


def test_what_is_contained_meets_a_requirement(table):
    plan = plan_of(table, "a.c", baseline=("avx2", "avx_vnni", "avx512_f"))
    check_required(plan, "WIDE, WIDE_VNNI, HUGE", table, "")
    with pytest.raises(ConfigError, match="WIDE is required, but not built"):
        check_required(plan_of(table, "a.c", levels=("-WIDE",)), "WIDE", table, "")


def test_a_module_keeps_the_best_level_that_all_its_kernels_have(table):
    own = {"b.c": KernelConfig(("BASE", "WIDE"))}
    plan = plan_of(table, "a.c", "b.c", own=own, module="m", baseline=("avx2", "avx_vnni", "avx512_f"))
    for number in (0, 1):
        cells = cells_of(plan, number)
        assert [name for name, cell in cells.items() if cell.verdict == "built"] == ["BASE", "WIDE"]


def test_features_of_all_languages_count(table):
    """The check at load asks for what any language turned on."""
    verdicts = dict(verdicts_of(table, HUGE_cpp=Verdict(True, "", (), (), ("avx2", "avx512_f", "sha"))))
    cells = cells_of(plan_of(table, "a.c", "b.cpp", verdicts=verdicts, baseline=("avx2", "avx_vnni", "avx512_f")))
    assert [cell.verdict for cell in cells.values()] == ["built", "disabled", "built", "built"]


def test_a_requirement_is_of_each_kernel(table):
    verdicts = verdicts_of(table, WIDE_cpp=Verdict(False, "too old"))
    plan = plan_of(table, "a.c", "b.cpp", verdicts=verdicts, baseline=("avx2", "avx_vnni", "avx512_f"))
    with pytest.raises(ConfigError, match=r"WIDE is required, but not built: for b\.cpp it is unavailable: too old"):
        check_required(plan, "WIDE", table, "")
