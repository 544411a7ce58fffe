"""`isagen why`: every reason that exists, and the names by which levels and kernels are found."""

from dataclasses import replace
from pathlib import Path

import pytest

from isagen.matrix.selection import Selection, select, selection_here
from isagen.matrix.why import Because, explain
from isagen.matrix.words import bugs_text, facts
from isagen.model.errors import ProjectError
from isagen.model.matrix import Alias, Matrix
from support.matrices import matrix_of

EVERYWHERE: dict[str, tuple[str, ...]] = {}


@pytest.fixture
def matrix() -> Matrix:
    """Five kernels at eight levels; AVX512_FP16 is unavailable."""
    return matrix_of()


def at(matrix: Matrix, lacks: dict[str, tuple[str, ...]] = EVERYWHERE, **environment: str) -> Selection:
    """A machine that lacks features of some levels."""
    return select(matrix, {level.name: lacks.get(level.name, ()) for level in matrix.levels}, environment)


def with_level(matrix: Matrix, name: str, **changes) -> Matrix:
    levels = tuple(replace(level, **changes) if level.name == name else level for level in matrix.levels)
    return replace(matrix, levels=levels)


def with_cell(matrix: Matrix, name: str, **changes) -> Matrix:
    """The matrix with the first kernel's cell at one level changed."""
    first, *rest = matrix.kernels
    cells = {level: replace(cell, **changes) if level == name else cell for level, cell in first.levels.items()}
    return replace(matrix, kernels=(replace(first, levels=cells), *rest))


def answer(matrix: Matrix, level: str, machine: Selection, kernel: str = "") -> tuple[Because, str]:
    found = explain(matrix, level, kernel, machine)
    return found.because, found.sentence


def test_unavailable(matrix):
    because, said = answer(matrix, "avx512_fp16", at(matrix))
    assert because is Because.UNAVAILABLE
    assert said == "AVX512_FP16 is unavailable: gcc 11.4.0 is older than 12.1, which the level needs"


def test_disabled(matrix):
    off = with_level(matrix, "AMX", verdict="disabled", reason="by the Meson option isa_levels")
    assert answer(off, "AMX", at(off)) == (Because.DISABLED, "AMX is disabled by the Meson option isa_levels")


def test_disabled_for_one_kernel(matrix):
    off = with_cell(matrix, "AVX2", verdict="disabled", reason="by isa.toml: kernels.'a.cpp'.levels")
    because, said = answer(off, "AVX2", at(off), off.kernels[0].source)
    assert because is Because.DISABLED
    assert said == f"{off.kernels[0].source} at AVX2 is disabled by isa.toml: kernels.'a.cpp'.levels"


def test_not_compiled(matrix):
    because, said = answer(with_level(matrix, "AVX2", compiled=False), "AVX2", at(matrix))
    assert (because, said) == (Because.NOT_COMPILED, "AVX2 is not compiled yet")


def test_a_kernel_without_a_stub_at_a_level(matrix):
    bare = with_cell(matrix, "AVX512", stubs=())
    because, said = answer(bare, "AVX512", at(bare), bare.kernels[0].source)
    assert because is Because.NO_STUB
    assert said.endswith(
        "at AVX512 registers no function at this level: its stubs call the best other level that runs and has one"
    )


def test_another_architecture(matrix):
    other = replace(matrix, cpu_family="a29k")
    because, said = answer(other, "AVX2", selection_here(other))
    assert because is Because.UNKNOWN_HERE
    assert "it is built for a29k, and this machine is " in said


def test_unsupported(matrix):
    because, said = answer(matrix, "AMX", at(matrix, {"AMX": ("amx_tile", "amx_int8 (OS)")}))
    assert because is Because.UNSUPPORTED
    assert said == "AMX is built, but CPU or OS lack features that it needs: amx_tile amx_int8 (OS)"


def test_selected(matrix):
    lacks = {"AMX": ("amx_tile",)}
    because, said = answer(matrix, "AVX512_BF16", at(matrix, lacks))
    assert (because, said) == (
        Because.SELECTED,
        "AVX512_BF16 is selected: the best built level that CPU and OS support",
    )


def test_selected_because_the_override_asks_for_it(matrix):
    machine = at(matrix, HELLO_ISA="avx2")
    because, said = answer(matrix, "AVX2", machine)
    assert because is Because.SELECTED
    assert said == "AVX2 is selected: HELLO_ISA asks for it, and CPU and OS support it"


def test_selected_below_a_level_that_is_switched_off(matrix):
    matrix = replace(matrix, aliases=ALIASES)
    machine = at(matrix, NO_AVX512="1")
    because, said = answer(matrix, machine.selected, machine)
    assert because is Because.SELECTED
    assert said.endswith("the best built level that CPU and OS support and that NO_AVX512=1 allows")


def test_narrowed_by_the_override(matrix):
    because, said = answer(matrix, "AVX512", at(matrix, HELLO_ISA="AVX2"))
    assert because is Because.OVERRIDDEN
    assert said == (
        "AVX512 is built and supported, but HELLO_ISA=AVX2 allows only AVX2 and what it requires; AVX2 is selected"
    )


ALIASES = (
    Alias("OLD_ISA", {"BEST": "AVX512"}),
    Alias("NO_AVX512", {}, "-AVX512"),
    Alias("AT_MOST_AVX2", {}, "AVX2"),
)


@pytest.mark.parametrize(
    ("environment", "variable", "asked", "selected"),
    [
        ({}, "HELLO_ISA", "", "AMX"),
        ({"OLD_ISA": " best "}, "OLD_ISA", "AVX512", "AVX512"),
        ({"OLD_ISA": "avx2_vnni"}, "OLD_ISA", "AVX2_VNNI", "AVX2_VNNI"),
        ({"OLD_ISA": "nonsense", "NO_AVX512": "1"}, "OLD_ISA", "", "AMX"),
        ({"HELLO_ISA": "AVX512_BF16", "OLD_ISA": "best"}, "HELLO_ISA", "AVX512_BF16", "AVX512_BF16"),
        ({"HELLO_ISA": " ", "NO_AVX512": "0"}, "NO_AVX512", "", "AVX2_VNNI"),
        ({"NO_AVX512": " "}, "HELLO_ISA", "", "AMX"),
        ({"NO_AVX512": "-AVX512"}, "NO_AVX512", "", "AVX2_VNNI"),
        ({"HELLO_ISA": "-AVX512"}, "HELLO_ISA", "", "AMX"),  # the generated code knows no such value
        ({"AT_MOST_AVX2": "anything"}, "AT_MOST_AVX2", "AVX2", "AVX2"),
    ],
)
def test_the_first_variable_that_is_set_counts(matrix, environment, variable, asked, selected):
    found = at(replace(matrix, aliases=ALIASES), **environment)
    assert (found.variable, found.asked, found.selected) == (variable, asked, selected)


def test_switched_off_by_an_alias(matrix):
    matrix = replace(matrix, aliases=ALIASES)
    because, said = answer(matrix, "AMX", at(matrix, NO_AVX512="1"))
    assert because is Because.OVERRIDDEN
    assert said == "AMX is built and supported, but NO_AVX512=1 switches it off; AVX2_VNNI is selected"


def test_another_level_is_preferred(matrix):
    machine = at(matrix)
    found = explain(matrix, "AVX2", "", machine)
    assert found.because is Because.NOT_PREFERRED
    assert found.sentence == ("AVX2 is built and supported, but AMX is preferred: its rank is 60, and AVX2's is 10")
    assert "to run it: HELLO_ISA=AVX2" in found.details


def test_a_stub_without_a_function_at_better_levels(matrix):
    """The level is not the preferred one, but its copy runs."""
    kernel, *others = matrix.kernels
    levels = {
        name: replace(cell, stubs=()) if name not in ("DEFAULT", "AVX2") else cell
        for name, cell in kernel.levels.items()
    }
    matrix = replace(matrix, kernels=(replace(kernel, levels=levels), *others))
    because, said = answer(matrix, "AVX2", at(matrix), kernel.source)
    assert because is Because.SELECTED
    assert said.endswith(" at AVX2 is selected: no better level that runs here has a function for its stubs")
    assert answer(matrix, "DEFAULT", at(matrix), kernel.source)[0] is Because.NOT_PREFERRED


def test_no_supported_level_is_allowed(matrix):
    """All levels require DEFAULT."""
    matrix = replace(matrix, aliases=(Alias("NOTHING", {}, "-DEFAULT"),))
    because, said = answer(matrix, "AVX2", at(matrix, NOTHING="1"))
    assert because is Because.NO_LEVEL
    assert said == "AVX2 is built and supported, but NOTHING=1 switches it off; no supported level is left"


def test_every_reason_is_tested():
    """Each name of a reason is in a test above."""
    text = Path(__file__).read_text(encoding="utf-8")
    assert [one.name for one in Because if f"Because.{one.name}" not in text] == []


def test_a_kernel_by_the_end_of_its_path_and_by_its_stub(matrix):
    source = matrix.kernels[0].source
    stub = next(cell.stubs[0] for cell in matrix.kernels[0].levels.values() if cell.stubs)
    for name in (source, source.rpartition("/")[2], stub):
        assert answer(matrix, "DEFAULT", at(matrix), name)[1].startswith(f"{source} at DEFAULT ")


def test_a_kernel_by_the_beginning_of_its_stubs(matrix):
    two = with_cell(matrix, "DEFAULT", stubs=("norm_float_stub", "norm_double_stub"))
    assert answer(two, "DEFAULT", at(two), "norm")[1].startswith(f"{matrix.kernels[0].source} at DEFAULT ")
    other = replace(two.kernels[0], source="kernels/other.cpp")
    both = replace(two, kernels=(*two.kernels, other))
    with pytest.raises(ProjectError, match=r"'norm' is the name of several kernels\n  .*: .*, kernels/other\.cpp$"):
        explain(both, "DEFAULT", "norm", at(both))


def test_a_matrix_counts_known_bugs_and_why_names_them(matrix):
    built = tuple(level.name for level in matrix.levels if level.verdict == "built")
    known = replace(matrix, known_bugs={"GCC 12: x fails": built[-1:], "GCC 12: y fails": built[-2:]})
    assert (
        dict(facts(known))["known bugs"]
        == "2 in the compilers; `isagen why LEVEL WHERE` names those of a level, at DEFAULT those of all"
    )
    assert bugs_text(known).startswith(f"at {built[-1]}: GCC 12: x fails; at ")
    details = explain(known, built[-1], "", at(known)).details
    assert {"known bug: GCC 12: x fails", "known bug: GCC 12: y fails"} <= {*details}


def test_a_bug_of_all_levels_is_named_at_the_lowest_one_alone(matrix):
    built = tuple(level.name for level in matrix.levels if level.verdict == "built")
    known = replace(matrix, known_bugs={"GCC 12: x fails": built, "GCC 12: y fails": built[1:]})
    everywhere, higher = "known bug: GCC 12: x fails", "known bug: GCC 12: y fails"
    kernel = known.kernels[0].source
    for level, name, expected in (
        (built[0], "", {everywhere}),
        (built[0], kernel, set()),
        (built[1], "", {higher}),
        (built[1], kernel, {higher}),
    ):
        assert {everywhere, higher} & {*explain(known, level, name, at(known)).details} == expected


def test_a_kernel_without_a_level_is_explained_at_the_selected_level(matrix):
    here = at(matrix, AVX512={"avx512_f"}, HELLO_ISA="avx2")
    kernel = matrix.kernels[0].source
    assert explain(matrix, kernel, "", here) == explain(matrix, here.selected, kernel, here)
    unknown = Selection("it is built for s390x")
    with pytest.raises(ProjectError, match=r"is a kernel: name a level before it; usage: isagen why LEVEL \[KERNEL"):
        explain(matrix, kernel, "", unknown)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sealed": False}, "levels that are not sealed do not fold"),
        ({"optimization": "-Og"}, "at -Og, each level has its own copy for debuggers"),
        ({}, "it contains more than code and constants"),
    ],
)
def test_a_copy_that_does_not_fold_has_a_reason(matrix, changes, reason):
    same = with_cell(replace(matrix, **changes), "AMX", same_as="AVX512", folded="")
    details = explain(same, "AMX", same.kernels[0].source, at(same)).details
    assert any(f"linked nevertheless: {reason}" in line for line in details)


def test_names_that_are_not_there(matrix):
    with pytest.raises(ProjectError, match=r"^hello: there is no level 'avx3' in table x86\n  did you mean"):
        explain(matrix, "avx3", "", at(matrix))
    limited = replace(matrix, baseline_only="isagen has no levels for 32-bit x86")
    with pytest.raises(ProjectError, match=r"\n  only DEFAULT is built: isagen has no levels for 32-bit x86$"):
        explain(limited, "avx3", "", at(limited))
    with pytest.raises(ProjectError, match=r"^hello: there is no kernel 'sofmax.cpp'\n  did you mean 'kernels/softmax"):
        explain(matrix, "AVX2", "sofmax.cpp", at(matrix))


def test_an_unknown_name_gets_few_names_and_the_usage(matrix):
    with pytest.raises(ProjectError, match=r"; usage: isagen why LEVEL \[KERNEL\] WHERE$"):
        explain(matrix, "sumsq", "", at(matrix))
    stubs = (*(f"max_{number}_stub" for number in range(20)), "row_min_stub")
    many = with_cell(matrix, "DEFAULT", stubs=stubs)
    with pytest.raises(ProjectError, match=r"'zzz'\n  `isagen matrix WHERE` lists the kernels$"):
        explain(many, "AVX2", "zzz", at(many))
    with pytest.raises(ProjectError, match=r"'min'\n  (did you mean 'row_min_stub'\?|known: row_min_stub)$"):
        explain(many, "AVX2", "min", at(many))


def test_the_selection_is_that_of_the_generated_code(matrix):
    """A partial order: an override to AVX512 does not allow AVX2_VNNI, which it does not require."""
    assert at(matrix).selected == "AMX"
    assert at(matrix, {"AMX": ("amx_tile",), "AVX512_BF16": ("avx512_bf16",)}).selected == "AVX512_VNNI"
    assert at(matrix, HELLO_ISA=" avx2_vnni ").selected == "AVX2_VNNI"
    assert at(matrix, {"AVX512": ("avx512_f",)}, HELLO_ISA="AVX512").selected == "AVX2"
    assert at(matrix, HELLO_ISA="nonsense").selected == "AMX"


def runs_here(matrix: Matrix, level: str, machine: Selection) -> list[str]:
    found = explain(matrix, level, matrix.kernels[0].source, machine)
    return [line for line in found.details if line.startswith("runs here: ")]


def test_what_a_kernel_runs_instead(matrix):
    """The best level that is supported, allowed and has a copy; of one that folds, the copy that is linked."""
    off = with_cell(matrix, "AVX512", verdict="disabled", reason="by isa.toml")
    lacks = {"AVX512_BF16": ("avx512_bf16",), "AMX": ("amx_tile",), "AVX512_FP16": ("avx512_fp16",)}
    assert runs_here(off, "AVX512", at(off, lacks)) == ["runs here: the copy of AVX512_VNNI"]
    folds = with_cell(off, "AVX512_VNNI", folded="AVX2")
    assert runs_here(folds, "AVX512", at(folds, lacks)) == [
        "runs here: the copy of AVX2, because AVX512_VNNI's has the same code"
    ]
    narrowed = at(off, lacks, **{off.override: "DEFAULT"})
    assert runs_here(off, "AVX512", narrowed) == ["runs here: the copy of DEFAULT"]
    assert runs_here(off, "AVX512", Selection("it is built for arm64")) == []


def test_a_copy_that_runs_because_the_preferred_level_s_has_the_same_code(matrix):
    """What already runs needs no advice."""
    folds = with_cell(matrix, "AMX", folded="AVX2")
    for name, lower in (("AVX2", ""), ("AVX512", "AVX2")):
        both = with_cell(folds, name, folded=lower)
        found = explain(both, name, both.kernels[0].source, at(both))
        assert found.because is Because.SELECTED
        assert found.sentence.endswith(
            f" at {name} runs here: AMX is preferred, but its code is the same, and is linked once"
        )
        assert "runs here: the copy of AVX2, because AMX's has the same code" in found.details
        assert not any(line.startswith("to run it") for line in found.details)
    other = explain(folds, "AVX512", folds.kernels[0].source, at(folds))
    assert other.because is Because.NOT_PREFERRED
    assert "to run it: HELLO_ISA=AVX512" in other.details
