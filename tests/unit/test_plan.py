"""The plan: which copies are built, with which flags, and why the rest is not."""

import re
from dataclasses import replace

import pytest

from isagen.model.errors import ConfigError, KernelError
from isagen.model.plan import Cell, Verdict
from isagen.planning.config import KernelConfig
from isagen.planning.plan import NO_SOURCE, CopyOptions
from support.plans import cells_of, plan_of, verdicts_of

# ---- levels and kernels


def test_built_cells_have_flags_macros_and_arguments_in_this_order(table):
    plan = plan_of(table, "k/dot.cpp", own={"k/dot.cpp": KernelConfig(None, ("-O3", "-funroll-loops"))})
    cells = cells_of(plan)
    assert list(cells) == ["BASE", "WIDE", "WIDE_VNNI", "HUGE"]
    assert {cell.verdict for cell in cells.values()} == {"built"}
    assert {cell.reason for cell in cells.values()} == {"probed with GCC 12.2.0"}
    vnni = cells["WIDE_VNNI"]
    assert vnni.flags[0] == "-mWIDE_VNNI"
    assert vnni.flags[-2:] == ("-O3", "-funroll-loops")
    assert set(vnni.flags[1:-2]) == {
        "-DOWN=1",
        "-DCPU_CAPABILITY=WIDE_VNNI",
        "-DCPU_CAPABILITY_WIDE_VNNI",
        "-DCPU_CAPABILITY_WIDE",
    }
    assert vnni.copy == "dot.cpp.WIDE_VNNI.cpp"


@pytest.mark.parametrize(
    ("name", "implied"), [("BASE", set()), ("WIDE", set()), ("WIDE_VNNI", {"WIDE"}), ("HUGE", set())]
)
def test_macros_of_lower_levels_of_the_same_width_are_implied(table, name, implied):
    flags = cells_of(plan_of(table, "a.c"))[name].flags
    lower = {found[1] for flag in flags if (found := re.fullmatch(r"-DCPU_CAPABILITY_(\w+)", flag))}
    assert lower == implied | {name}
    assert f"-DCPU_CAPABILITY={name}" in flags


def test_a_lower_level_that_the_compiler_lacks_gives_no_macro(table):
    """GCC 11 builds AMX and not AVX512_FP16, whose intrinsics a kernel would then use."""
    verdicts = {**verdicts_of(table), ("WIDE", "c"): Verdict(False, "too old")}
    plan = plan_of(table, "a.c", verdicts=verdicts)
    assert "-DCPU_CAPABILITY_WIDE" not in cells_of(plan)["WIDE_VNNI"].flags
    assert "CPU_CAPABILITY_WIDE" not in next(level for level in plan.levels if level.name == "WIDE_VNNI").macros
    plan = plan_of(table, "a.cpp", verdicts={**verdicts_of(table), ("WIDE", "c"): Verdict(False, "too old")})
    assert "-DCPU_CAPABILITY_WIDE" in cells_of(plan)["WIDE_VNNI"].flags


def test_folders_are_spelled_as_the_compiler_wants_it(table):
    plan = plan_of(table, "a.c", copy_options=CopyOptions(include_option="/I"), generated={"a.c": "a.c"})
    assert plan.units[0].args["c"][:2] == ("/I.", "/I..")


@pytest.mark.parametrize(
    ("levels", "option", "own", "reasons"),
    [
        (("-HUGE",), "", None, {"HUGE": "by isa.toml: levels"}),
        ((), "-HUGE", None, {"HUGE": "by the Meson option isa_levels"}),
        ((), "WIDE", None, dict.fromkeys(["WIDE_VNNI", "HUGE"], "by the Meson option isa_levels")),
        ((), "", ("-HUGE",), {"HUGE": "by isa.toml: kernels.'k/a.c'.levels"}),
        (("-HUGE",), "-HUGE,-WIDE", ("-HUGE", "-WIDE_VNNI"), {
            "HUGE": "by isa.toml: levels",
            "WIDE_VNNI": "by isa.toml: kernels.'k/a.c'.levels",
            "WIDE": "by the Meson option isa_levels",
        }),
        (("-HUGE",), "all", ("all",), {"HUGE": "by isa.toml: levels"}),
        (("none",), "", None, dict.fromkeys(["WIDE", "WIDE_VNNI", "HUGE"], "by isa.toml: levels")),
    ],
)  # fmt: skip
def test_disabled_cells_say_where(table, levels, option, own, reasons):
    config = {"k/a.c": KernelConfig(own)}
    cells = cells_of(plan_of(table, "k/a.c", levels=levels, option=option, own=config))
    assert {name: cell.reason for name, cell in cells.items() if cell.verdict == "disabled"} == reasons
    assert all(not cell.copy and not cell.flags for cell in cells.values() if cell.verdict == "disabled")
    assert all(cells[name].verdict == "built" for name in table.names() if name not in reasons)


def test_an_option_that_names_levels_of_other_processors_alone_says_so(table):
    table = replace(table, other_levels=frozenset({"SVE", "SVE2", "WIDE"}))
    for option, suffix in (("sve,SVE2", ": none of the levels named there is in table own"), ("SVE,WIDE", "")):
        reasons = {cell.reason for cell in cells_of(plan_of(table, "a.c", option=option)).values()}
        assert f"by the Meson option isa_levels{suffix.replace('own', table.name)}" in reasons


def test_a_kernels_own_levels_are_only_its_own(table):
    plan = plan_of(table, "a.c", "b.c", own={"a.c": KernelConfig(("none",))})
    assert [cell.verdict for cell in plan.kernels[0].cells] == ["built"] + ["disabled"] * 3
    assert [cell.verdict for cell in plan.kernels[1].cells] == ["built"] * 4


def test_unavailable_cells_say_why_and_disabled_goes_first(table):
    old = Verdict(False, "GCC 8.1 is older than 9.2", ("-mHUGE",))
    verdicts = verdicts_of(table, HUGE=old, WIDE_VNNI=old)
    cells = cells_of(plan_of(table, "a.c", levels=("-WIDE_VNNI",), verdicts=verdicts))
    assert cells["HUGE"] == Cell("HUGE", "unavailable", "GCC 8.1 is older than 9.2")
    assert cells["WIDE_VNNI"].verdict == "disabled"


def test_verdict_is_that_of_the_kernels_language(table):
    verdicts = verdicts_of(table, HUGE_cpp=Verdict(False, "no"), WIDE_c=Verdict(True, "", ("-C",)))
    plan = plan_of(table, "a.c", "b.cc", verdicts=verdicts)
    assert [cells_of(plan, n)["HUGE"].verdict for n in (0, 1)] == ["built", "unavailable"]
    assert [cells_of(plan, n)["WIDE"].flags[0] for n in (0, 1)] == ["-C", "-mWIDE"]


def test_a_compiler_without_the_lowest_level(table):
    with pytest.raises(ConfigError, match=r"table own: BASE cannot be built for a\.c: too old"):
        plan_of(table, "a.c", verdicts=verdicts_of(table, BASE=Verdict(False, "too old")))


def test_rows_say_where_the_source_is(table):
    row = plan_of(table, "k/a.c").kernels[0]
    assert (row.source, row.shown_path, row.language) == ("k/a.c", "../k/a.c", "c")


@pytest.mark.parametrize(("override", "expected"), [(None, "OWN_ISA"), ("", ""), ("MINE", "MINE")])
def test_override(table, override, expected):
    assert plan_of(table, "a.c", override=override).override == expected


def test_no_kernels_leave_the_lowest_level(table):
    plan = plan_of(table)
    assert [level.verdict for level in plan.levels] == ["built"] + ["disabled"] * (len(plan.levels) - 1)
    assert not list(plan.copies())
    assert not plan.units


# ---- levels


def test_level_row_has_the_best_verdict_of_its_cells(table):
    verdicts = verdicts_of(table, HUGE_cpp=Verdict(False, "no such flag"))
    own = {"a.c": KernelConfig(("-HUGE", "-WIDE"))}
    rows = {row.name: row for row in plan_of(table, "a.c", "b.cpp", own=own, verdicts=verdicts).levels}
    assert (rows["HUGE"].verdict, rows["HUGE"].reason) == ("unavailable", "no such flag")
    assert rows["WIDE"].verdict == "built"
    assert rows["WIDE_VNNI"].requires == ("BASE", "WIDE")
    assert [row.rank for row in rows.values()] == [0, 10, 20, 30]


@pytest.mark.parametrize(
    ("first", "own", "more", "reason"),
    [
        ("a.c", {"a.c": ("BASE", "HUGE")}, {}, NO_SOURCE),
        ("a.c", {"a.c": ("BASE", "HUGE")}, {"module": "m"}, NO_SOURCE),
        (
            "a.c",
            {},
            {"baseline": ("avx2", "avx_vnni")},
            "the baseline contains it, and WIDE_VNNI, which runs in its place",
        ),
        ("a.f90", {}, {"sealed": False}, "by the Meson option isa_seal: "),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_level_that_kernels_lack_for_different_reasons(table, first, own, more, reason, turned):
    """Entries of isa.toml are the reason only if no kernel lacks the level for another one."""
    entries = {source: KernelConfig(levels) for source, levels in (own | {"b.c": ("BASE",)}).items()}
    kernels = ("b.c", first) if turned else (first, "b.c")
    plan = plan_of(table, *kernels, own=entries, **more)
    row = plan.levels[1]
    assert row.verdict == "disabled"
    assert row.reason.startswith(reason)
    assert plan.is_without_source(row) == (reason == NO_SOURCE)


def test_levels_are_without_source_if_there_is_no_kernel(table):
    plan = plan_of(table)
    assert [plan.is_without_source(level) for level in plan.levels] == [False, True, True, True]


def test_level_row_needs_what_any_language_turned_on(table):
    verdicts = verdicts_of(
        table,
        HUGE_c=Verdict(True, "", ("-c",), (("-mno-x", "unknown"),), ("sse3", "avx2", "avx512_f")),
        HUGE_cpp=Verdict(True, "", ("-cpp",), (), ("fma", "avx2", "avx512_f")),
    )
    row = plan_of(table, "a.c", "b.cpp", verdicts=verdicts).levels[-1]
    assert row.features == ("sse3", "fma", "avx2", "avx512_f")  # in the order of the features file
    assert row.flags == {"c": ("-c",), "cpp": ("-cpp",)}
    assert row.dropped == {"c": (("-mno-x", "unknown"),)}


# ---- bad input


def test_assembly_that_is_not_preprocessed(table):
    with pytest.raises(KernelError, match=r"a\.s: is assembly that is not preprocessed\n  rename it to end in \.S"):
        plan_of(table, "a.s")


@pytest.mark.parametrize("source", ["a.h", "a.cu", "a", "dir.c/a", "a.CPP", "a.pf"])
def test_no_language_of_kernels(table, source):
    with pytest.raises(KernelError, match=re.escape(f"{source}: is not C, C++, Fortran or assembly")):
        plan_of(table, source)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        (("a.c", "b.c", "a.c"), "isa_kernels: a.c: is listed twice"),
        (("a\nb.c",), "has a line break, a backslash or a '|' in its path"),
    ],
)
def test_bad_kernel_lists(table, kernels, message):
    with pytest.raises(KernelError, match=re.escape(message)):
        plan_of(table, *kernels)


def test_isa_toml_names_a_kernel_that_is_none(table):
    with pytest.raises(ConfigError, match=r"isa\.toml: kernels: 'k/dott\.c' matches no kernel\n.*mean 'k/dot\.c'\?"):
        plan_of(table, "k/dot.c", own={"k/dott.c": KernelConfig()})


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"levels": ("WIDER",)}, "isa.toml: levels"),
        ({"option": "WIDER"}, "Meson option isa_levels"),
        ({"own": {"a.c": KernelConfig(("WIDER",))}}, "isa.toml: kernels.'a.c'.levels"),
    ],
)
def test_unknown_level_names_the_place(table, changes, where):
    with pytest.raises(ConfigError) as caught:
        plan_of(table, "a.c", **changes)
    assert caught.value.where == where
    assert "did you mean 'WIDE'?" in caught.value.remedy
