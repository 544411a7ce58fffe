"""The plan: which copies are built, with which flags, and why the rest is not."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from isagen.model.aliases import Alias
from isagen.model.errors import ConfigError, KernelError
from isagen.model.languages import is_preprocessed, language_of
from isagen.model.plan import Cell, Plan, Verdict
from isagen.planning.aliases import aliases_of
from isagen.planning.config import Config, KernelConfig
from isagen.planning.kernel_settings import matches
from isagen.planning.plan import Style, copy_names, make_plan
from isagen.processors.table import Table, load_table


def level(name: str, rank: int, bits: int, features: str = "", requires: str = "", defines: str = "") -> str:
    return f"""
        [levels.{name}]
        rank = {rank}
        vector_bits = {bits}
        features = {features.split()}
        requires = {requires.split()}
        defines = {defines.split()}
        flags.gnu = []
        probe = "return 0;"
    """


def table_of(folder: Path, *levels: str) -> Table:
    (folder / "own.toml").write_text("features = 'x86'\noverride = 'OWN_ISA'\n" + "".join(levels))
    return load_table("own.toml", folder)


@pytest.fixture
def table(tmp_path) -> Table:
    return table_of(
        tmp_path,
        level("BASE", 0, 128),
        level("WIDE", 10, 256, "avx2"),
        level("WIDE_VNNI", 20, 256, "avx_vnni", "WIDE", "OWN=1"),
        level("HUGE", 30, 512, "avx512_f", "WIDE"),
    )


def verdicts_of(table: Table, **changed: Verdict) -> Mapping[tuple[str, str], Verdict]:
    """Every level is available in both languages, but those of `changed` (NAME or NAME_LANGUAGE)."""
    return {
        (name, language): changed.get(f"{name}_{language}")
        or changed.get(name)
        or Verdict(True, "probed with GCC 12.2.0", (f"-m{name}",), (), table.required_features(name))
        for name in table.names()
        for language in ("c", "cpp", "fortran")
    }


def plan_of(
    table: Table,
    *kernels: str,
    levels: tuple[str, ...] = (),
    option: str = "",
    own: Mapping[str, KernelConfig] | None = None,
    verdicts: Mapping[tuple[str, str], Verdict] | None = None,
    override: str | None = None,
    style: Style | None = None,
    **more: Any,
) -> Plan:
    return make_plan(
        config=Config(Path("some/isa.toml"), levels=levels, override=override, kernels=own or {}),
        table=table,
        kernels=kernels,
        option_levels=option,
        verdicts=verdicts or verdicts_of(table),
        source_root="..",
        style=style or Style(),
        **more,
    )


def cells_of(plan: Plan, kernel: int = 0) -> dict[str, Cell]:
    return {cell.level: cell for cell in plan.kernels[kernel].cells}


# ---- cells


# ---- patterns in isa.toml


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("k/*.cpp", ["k/a.cpp", "k/b.cpp"]),
        ("*.cpp", []),
        ("**/*.cpp", ["k/a.cpp", "k/b.cpp", "k/m/c.cpp"]),
        ("**/c.c*", ["k/m/c.cpp", "c.c"]),
        ("k/**", ["k/a.cpp", "k/b.cpp", "k/m/c.cpp"]),
        ("k/?.cpp", ["k/a.cpp", "k/b.cpp"]),
        ("k/a.c++", []),
    ],
)
def test_what_a_pattern_matches(pattern, matched):
    sources = ["k/a.cpp", "k/b.cpp", "k/m/c.cpp", "c.c"]
    assert [source for source in sources if matches(pattern, source)] == matched


def test_an_exact_path_counts_before_patterns_and_the_last_pattern_before_others(table):
    own = {
        "k/a.cpp": KernelConfig(None, ("-exact",)),
        "k/*.cpp": KernelConfig(("WIDE",), ("-first",)),
        "k/*": KernelConfig(None, ("-last",)),
        "k/b.cpp": KernelConfig(("HUGE",), None),
        "k/c.cpp": KernelConfig(None, ()),
    }
    plan = plan_of(table, "k/a.cpp", "k/b.cpp", "k/c.cpp", "k/d.c", own=own)
    built = [[cell.level for cell in kernel.cells if cell.verdict == "built"] for kernel in plan.kernels]
    assert [kernel.args for kernel in plan.kernels] == [("-exact",), ("-last",), (), ("-last",)]
    assert built == [["BASE", "WIDE"], ["BASE", "HUGE"], ["BASE", "WIDE"], list(table.names())]
    assert cells_of(plan, 0)["HUGE"].reason == "by isa.toml: kernels.'k/*.cpp'.levels"
    assert cells_of(plan, 1)["WIDE"].reason == "by isa.toml: kernels.'k/b.cpp'.levels"


def test_a_pattern_that_matches_no_kernel_is_an_error(table):
    with pytest.raises(
        ConfigError, match=r"isa\.toml: kernels: the pattern 'l/\*' matches no kernel\n.*k/a\.c, k/b\.c"
    ):
        plan_of(table, "k/a.c", "k/b.c", own={"l/*": KernelConfig()})


def test_a_path_with_a_wildcard_in_its_name_is_found(table):
    plan = plan_of(table, "k/a*.c", "k/ab.c", own={"k/a*.c": KernelConfig(None, ("-x",))})
    assert [kernel.args for kernel in plan.kernels] == [("-x",), ("-x",)]


# ---- aliases of the override


def aliases_in(table: Table, *aliases: Alias, elsewhere: frozenset[str] = frozenset()) -> tuple[Alias, ...]:
    return aliases_of(Config(Path("isa.toml"), aliases=aliases), table, elsewhere)


def test_aliases_mean_levels_as_the_table_writes_them(table):
    said = (Alias("A"), Alias("B", {"ON": "wide", "OFF": "-Huge"}), Alias("C", {}, "-wide_vnni"))
    expected = (Alias("A"), Alias("B", {"ON": "WIDE", "OFF": "-HUGE"}), Alias("C", {}, "-WIDE_VNNI"))
    assert aliases_in(table, *said) == expected


def test_aliases_that_mean_levels_of_other_architectures_are_left_out(table):
    said = (Alias("B", {"ON": "wide", "OFF": "neon"}), Alias("C", {}, "-NEON"))
    assert aliases_in(table, *said, elsewhere=frozenset({"NEON"})) == (Alias("B", {"ON": "WIDE"}),)


@pytest.mark.parametrize(
    ("alias", "where", "message"),
    [
        (Alias("B", {"ON": "wid"}), "override_aliases.B.ON", "unknown level 'wid'"),
        (Alias("B", {}, "-wid"), "override_aliases.B", "unknown level 'wid'"),
        (Alias("B", {}, "-base"), "override_aliases.B", "BASE cannot be switched off"),
    ],
)
def test_bad_aliases(table, alias, where, message):
    with pytest.raises(ConfigError) as caught:
        aliases_in(table, alias)
    assert caught.value.where == f"isa.toml: {where}"
    assert message in caught.value.message


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


def test_define_is_spelled_as_the_compiler_wants_it(table):
    plan = plan_of(table, "a.c", style=Style(include_folder="/I", define="/D"))
    assert "/DCPU_CAPABILITY=BASE" in cells_of(plan)["BASE"].flags
    assert plan.units[0].args["c"][0] == "/I.."


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
    assert (row.source, row.line, row.language) == ("k/a.c", "../k/a.c", "c")


@pytest.mark.parametrize(("override", "expected"), [(None, "OWN_ISA"), ("", ""), ("MINE", "MINE")])
def test_override(table, override, expected):
    assert plan_of(table, "a.c", override=override).override == expected


# ---- levels


def test_level_row_has_the_best_verdict_of_its_cells(table):
    verdicts = verdicts_of(table, HUGE_cpp=Verdict(False, "no such flag"))
    own = {"a.c": KernelConfig(("-HUGE", "-WIDE"))}
    rows = {row.name: row for row in plan_of(table, "a.c", "b.cpp", own=own, verdicts=verdicts).levels}
    assert (rows["HUGE"].verdict, rows["HUGE"].reason) == ("unavailable", "no such flag")
    assert rows["WIDE"].verdict == "built"
    assert rows["WIDE_VNNI"].below == ("BASE", "WIDE")
    assert [row.rank for row in rows.values()] == [0, 10, 20, 30]


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


# ---- units


def test_every_copy_is_in_one_unit(table):
    kernels = ("k/a.c", "k/b.cpp", "l/a.c", "l/m/c.cc", "d.cxx")
    own = {"l/a.c": KernelConfig(("-HUGE",), ("-O3",)), "d.cxx": KernelConfig(("none",))}
    plan = plan_of(table, *kernels, own=own)
    copies = [cell.copy for row in plan.kernels for cell in row.cells if cell.verdict == "built"]
    assert len(set(copies)) == len(copies) == 4 * 3 + 3 + 1
    assert sorted(copy for unit in plan.units for copy in unit.copies) == sorted(copies)
    assert all(f".{unit.level}." in copy for unit in plan.units for copy in unit.copies)


def test_units_part_levels_folders_and_arguments(table):
    own = {"k/c.cpp": KernelConfig(None, ("-O3",))}
    style = Style(kernel_flags={"c": ("-fno-lto",), "cpp": ("-fno-lto", "-fno-gnu-unique")})
    plan = plan_of(table, "k/a.cpp", "k/b.c", "k/c.cpp", "l/d.cpp", levels=("WIDE",), own=own, style=style)
    wide = [unit for unit in plan.units if unit.level == "WIDE"]
    assert [unit.copies for unit in wide] == [
        ("a.cpp.WIDE.cpp", "b.c.WIDE.c"),
        ("c.cpp.WIDE.cpp",),
        ("d.cpp.WIDE.cpp",),
    ]
    assert wide[0].args["c"][:3] == ("-iquote../k", "-fno-lto", "-mWIDE")
    assert wide[0].args["cpp"][:4] == ("-iquote../k", "-fno-lto", "-fno-gnu-unique", "-mWIDE")
    assert wide[1].args["cpp"][-1] == "-O3"
    assert "-O3" not in wide[2].args["cpp"]
    assert wide[2].args["cpp"][0] == "-iquote../l"


def test_a_unit_keeps_its_name_whatever_other_kernels_do(table):
    def names(*kernels, own):
        units = plan_of(table, *kernels, levels=("WIDE",), own=own).units
        return {unit.copies[0]: unit.name for unit in units}

    before = names("k/a.cpp", "k/b.cpp", own={})
    after = names("x/first.cpp", "k/b.cpp", "k/a.cpp", own={"k/b.cpp": KernelConfig(None, ("-O3",))})
    assert after["a.cpp.WIDE.cpp"] == before["a.cpp.WIDE.cpp"]
    assert after["b.cpp.WIDE.cpp"] != before["a.cpp.WIDE.cpp"]


def test_names_of_units_are_unique_though_a_level_ends_in_a_number(tmp_path):
    table = table_of(tmp_path, level("BASE", 0, 128), level("AVX10", 1, 512), level("AVX10_2", 2, 512))
    plan = plan_of(table, "a/a.c", "b/b.c", "c/c.c")
    names = [unit.name for unit in plan.units]
    assert len(names) == 9
    assert len(set(names)) == 9


# ---- names


@pytest.mark.parametrize(
    ("kernels", "names"),
    [
        (["a.c"], ["a.c"]),
        (["x/y/a.c", "z/b.c"], ["a.c", "b.c"]),
        (["a.c", "a.cpp"], ["a.c", "a.cpp"]),
        (["x/a.c", "y/a.c", "b.c"], ["x_a.c", "y_a.c", "b.c"]),
        (["p/x/a.c", "q/x/a.c"], ["p_x_a.c", "q_x_a.c"]),
        (["a.c", "x/a.c"], ["0_a.c", "x_a.c"]),
    ],
)
def test_copy_names(kernels, names):
    assert list(copy_names(kernels).items()) == list(zip(kernels, names, strict=True))


@pytest.mark.parametrize(
    "kernels",
    [
        ["a.C", "a.c"],
        ["x/A.c", "X/a.c"],
        ["a_b.c", "a/b.c"],
        ["a_b.c", "a/b.c", "c/b.c"],
        ["x/a_b.c", "x/a/b.c", "x_a_b.c", "y/b.c"],
        ["a.c", "x/a.c", "0_a.c"],
        ["0_a.c", "a.c", "x/a.c", "1_a.c"],
        ["../x/a.c", "x/a.c", "../../x/a.c"],
        [f"{'d/' * n}a.c" for n in range(20)],
        ["groß/a.c", "gross/a.c", "GROSS/a.c"],
    ],
)
def test_copy_names_differ_on_every_file_system(kernels):
    names = copy_names(kernels)
    assert list(names) == kernels
    assert len({name.casefold() for name in names.values()}) == len(kernels)
    assert not any("/" in name for name in names.values())
    assert all(names[k].rpartition(".")[2] == k.rpartition(".")[2] for k in kernels)


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("a.c", "c"),
        ("A.C", "cpp"),
        ("a.cc", "cpp"),
        ("a.cpp", "cpp"),
        ("a.cxx", "cpp"),
        ("a.c++", "cpp"),
        ("a.h.c", "c"),
        ("a.S", "c"),
        ("a.f", "fortran"),
        ("a.f90", "fortran"),
        ("a.F90", "fortran"),
        ("a.fpp", "fortran"),
    ],
)
def test_language_of(source, language):
    assert language_of(source) == language


@pytest.mark.parametrize(
    ("source", "preprocessed"), [("a.f90", False), ("a.F90", True), ("a.f", False), ("a.fpp", True)]
)
def test_what_fortran_compilers_preprocess(source, preprocessed):
    assert is_preprocessed(source) == preprocessed


# ---- shims

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
        "k/sum.c": KernelConfig(None, ("-O1",)),
    }
    plan = plan_of(table, "k/dot.f90", "k/sum.c", own=own)
    for unit in plan.units:
        assert unit.args["c"][-1] == "-O1"
        assert unit.args["fortran"][-1] == "-O1"


def test_without_the_seal_fortran_and_assembly_have_the_lowest_level(table):
    plan = plan_of(table, "a.f90", "b.S", "c.c", sealed=False)
    for number, built in enumerate((["BASE"], ["BASE"], table.names())):
        assert [cell.level for cell in plan.kernels[number].cells if cell.copy] == list(built)
    assert "isa_seal" in cells_of(plan)["WIDE"].reason


@pytest.mark.parametrize(
    ("source", "own", "message"),
    [
        ("a.f90", KernelConfig(register={"x": "f"}), "isa.toml: kernels.'a.f90': register needs the header that"),
        ("a.S", KernelConfig(register={"x": "f"}), "isa.toml: kernels.'a.S': register needs the header that"),
        ("a.S", KernelConfig(header="s.h", register={"x": "n::f"}), "kernels.'a.S'.register.x: 'n::f' is no symbol"),
    ],
)
def test_what_cannot_be_registered(table, source, own, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        plan_of(table, source, own={source: own})


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
        (("a\nb.c",), "has a line break in its name"),
    ],
)
def test_bad_kernel_lists(table, kernels, message):
    with pytest.raises(KernelError, match=re.escape(message)):
        plan_of(table, *kernels)


def test_isa_toml_names_a_kernel_that_is_none(table):
    with pytest.raises(ConfigError, match=r"isa\.toml: kernels: 'k/dott\.c' is not among.*\n.*mean 'k/dot\.c'\?"):
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


# ---- sets of kernels


def test_no_kernels_leave_the_lowest_level(table):
    plan = plan_of(table)
    assert [level.verdict for level in plan.levels] == ["built"] + ["disabled"] * (len(plan.levels) - 1)
    assert not list(plan.copies())
    assert not plan.units


def test_the_copies_of_two_sets_have_other_names(table):
    plans = [plan_of(table, "k/dot.c", kernel_set=name) for name in ("", "one", "two")]
    copies = [{cell.copy for _, cell in plan.copies()} for plan in plans]
    units = [{unit.name for unit in plan.units} for plan in plans]
    for found in (copies, units):
        assert len(set.union(*found)) == sum(map(len, found))


def test_isa_toml_may_name_a_kernel_of_another_set(table):
    own = {"k/far.c": KernelConfig(args=("-g",))}
    assert plan_of(table, "k/dot.c", own=own, others=("k/far.c",)).kernels[0].args == ()


def test_a_generated_kernel_is_found_in_the_build_folder(table):
    plan = plan_of(table, "k/made.c", "k/dot.c", generated={"k/made.c": "part/k/made.c"})
    made, dot = plan.kernels
    assert (made.line, made.generated) == ("part/k/made.c", True)
    assert (dot.line, dot.generated) == ("../k/dot.c", False)
    folders = {unit.copies[0]: unit.args["c"][:2] for unit in plan.units if unit.level == table.base.name}
    assert folders["made.c." + table.base.name + ".c"] == ("-iquotepart/k", "-iquote../k")
