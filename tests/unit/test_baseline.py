"""The baseline in summary, matrix and warnings: the features that every CPU must have, and their origin."""

from dataclasses import replace

import pytest

from isagen.configure.answer import answer
from isagen.matrix.summary import summary_lines
from isagen.model.plan import CompilerUse
from isagen.processors.baseline import baseline_origin, baseline_warnings, beyond_architecture
from support.model import build_of, kernel_row, level_row, plan_of, record_of

ARCHITECTURE = ("fpu", "mmx", "fxsr", "sse", "sse2")


def built_with(*features, c=(), cpp=(), command=("g++",)):
    build = build_of(plan_of(("DEFAULT",), [kernel_row("a.c", {"DEFAULT": "a.c.DEFAULT.c"})]))
    gcc = ("gcc", "12.2.0", "GCC 12.2.0")
    compilers = {"c": CompilerUse(*gcc, ("gcc",), c), "cpp": CompilerUse(*gcc, command, cpp)}
    return replace(build, compilers=compilers, record=record_of(baseline=(*ARCHITECTURE, *features)))


def test_the_architecture_s_own_baseline_is_nothing_to_warn_of():
    build = built_with()
    assert beyond_architecture(build) == ()
    assert not list(baseline_warnings(build))
    assert answer(build)["warnings"] == []
    lines = dict(summary_lines(build))
    assert "baseline" not in lines
    assert lines["DEFAULT"].endswith("no flags: the baseline of the compiler")


def with_levels(*levels):
    cells = {level.name: f"a.c.{level.name}.c" for level in levels}
    return build_of(replace(plan_of((), [kernel_row("a.c", cells)]), levels=levels))


def test_what_only_flags_turn_on_is_named():
    """Level, features and flag, in the summary and in a warning."""
    flags = {"c": ("-O3", "-march=skylake"), "cpp": ("-march=skylake",)}
    level = level_row("SKYLAKE", flags=flags, features=("avx2", "adx"), added=("adx",))
    build = with_levels(level_row("DEFAULT"), level)
    said = "-march=skylake also turns on adx"
    assert dict(summary_lines(build))["SKYLAKE"] == f"1 of 1 kernel, -O3 -march=skylake; {said}"
    (warning,) = answer(build)["warnings"]
    assert warning.startswith(f"isagen: SKYLAKE: {said}: ")
    other = with_levels(level_row("DEFAULT"), replace(level, flags={"c": ("-mavx2", "-madx")}))
    assert "-mavx2 -madx also turns on adx" in dict(summary_lines(other))["SKYLAKE"]
    assert not answer(with_levels(replace(level, verdict="unavailable")))["warnings"]


@pytest.mark.parametrize(
    ("build", "origin"),
    [
        (
            built_with("avx2", c=("-g", "-march=haswell"), cpp=("-march=haswell",)),
            "c_args and cpp_args: -march=haswell",
        ),
        (built_with("avx2", "bmi1", cpp=("-mavx2", "-mtune=native", "-mbmi", "-m64")), "cpp_args: -mavx2 -mbmi"),
        (built_with("sse4_2", cpp=("-msse4.2",), c=("-march=native",)), "c_args: -march=native; cpp_args: -msse4.2"),
        (built_with("avx512_f", cpp=("-mavx512f", "-mno-avx")), "cpp_args: -mavx512f"),
        (built_with("avx2", command=("ccache", "g++", "-march=haswell")), "cpp compiler: -march=haswell"),
        (built_with("avx2", c=("-mtune=haswell",)), "the default of GCC 12.2.0"),
    ],
)
def test_where_the_features_come_from(build, origin):
    assert baseline_origin(build) == origin
    lines = dict(summary_lines(build))
    features = " ".join(beyond_architecture(build))
    assert lines["baseline"] == f"{features} ({origin}): every user's CPU must have them"
    assert lines["DEFAULT"].endswith("no flags: the baseline above")
    (said,) = answer(build)["warnings"]
    assert f"every user's CPU must have {features}" in said
    assert origin in said
    assert ("such as zig, builds for others with -mcpu=baseline" in said) == origin.startswith("the default of")
