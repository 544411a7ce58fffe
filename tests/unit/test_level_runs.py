"""`isagen test` and `isagen tune`: which levels run, where features or sets of kernels decide it."""

import sys
from dataclasses import replace

import pytest

from isagen.matrix.selection import Selection
from isagen.testing.places import Place
from isagen.testing.runs import run_levels
from isagen.tune.measure import measure
from support.matrices import matrix_of

# What a program of the project does when it is loaded on a CPU that has the levels of `has`.
LOADED = """\
import os, sys
has = sys.argv[1].split(",")
for variable in sys.argv[2].split(","):
    asked = os.environ.get(variable)
    with open(os.environ.get("ISAGEN_TEST_REPORT", os.devnull), "a") as report:
        print(variable, asked if asked in has else has[0], has[-1], "the file", file=report)
"""


def program(*has, variables="HELLO_ISA"):
    return [sys.executable, "-c", LOADED, ",".join(has), variables]


def changed(matrix, name, **changes):
    """The matrix with other facts of one level."""
    return replace(matrix, levels=tuple(replace(one, **changes) if one.name == name else one for one in matrix.levels))


@pytest.fixture
def novel(monkeypatch):
    """A build whose level AVX2 needs a feature that only the project's table knows, on a CPU with the others."""
    place = Place("this CPU")
    monkeypatch.setattr("isagen.testing.runs.places", lambda matrix, emulated: iter([place]))
    for module in ("testing.runs", "tune.measure"):
        monkeypatch.setattr(f"isagen.{module}.is_of_build", lambda file, matrices: file == "the file")
    matrix = matrix_of(1)
    return changed(matrix, "AVX2", features=(*matrix.level("AVX2").features, "novel"))


def test_a_level_that_the_cpu_lacks_by_a_feature_of_the_table_alone_has_not_failed(novel):
    (one,) = run_levels("", [novel], ["AVX2"], program("DEFAULT"), emulated=False)
    assert (one.result, one.how) == ("not run", "")
    assert one.reason == "DEFAULT ran in its place: this CPU may lack novel"
    (one,) = run_levels("", [novel], ["AVX2"], program("DEFAULT", "AVX2"), emulated=False)
    assert (one.result, one.reason) == ("passed", "")
    (one,) = run_levels("", [novel], ["AVX512"], program("DEFAULT", "AVX2"), emulated=False)
    assert (one.result, one.reason) == ("failed", "DEFAULT ran in its place")


@pytest.mark.parametrize("order", [1, -1])
def test_a_level_of_any_set_with_the_same_variable_runs(novel, order):
    matrices = [novel, changed(novel, "AVX2", verdict="disabled", reason="by isa.toml: sets.other.levels")]
    (one,) = run_levels("", matrices[::order], ["AVX2"], program("DEFAULT", "AVX2"), emulated=False)
    assert one.result == "passed"


def test_each_set_decides_whether_a_level_can_run(novel, monkeypatch):
    place = Place("this CPU", lacks={"avx_vnni": "avx_vnni"})
    monkeypatch.setattr("isagen.testing.runs.places", lambda matrix, emulated: iter([place]))
    more = changed(novel, "AVX2", features=("avx_vnni",))
    for matrices in ([novel, more], [more, novel], [novel, replace(more, override="MORE_ISA")]):
        (one,) = run_levels("", matrices, ["AVX2"], program("DEFAULT", "AVX2"), emulated=False)
        assert (one.result, one.reason) == ("not run", "this CPU lacks avx_vnni")


@pytest.mark.parametrize(("best", "result"), [("DEFAULT", "passed"), ("AVX2", "failed")])
def test_what_an_emulator_did_not_run_does_not_count(novel, monkeypatch, best, result):
    """Programs that the command starts run on this CPU, and find levels that the emulated CPU lacks."""
    place = Place("qemu", before=("env",), lacks={"avx2": "avx2"})
    monkeypatch.setattr("isagen.testing.runs.places", lambda matrix, emulated: iter([place]))
    (one,) = run_levels("", [novel], ["DEFAULT"], program("DEFAULT", best), emulated=True)
    assert one.result == result
    assert one.loaded == ({"DEFAULT": 1} if result == "passed" else {})
    assert result == "passed" or "on this CPU, outside the emulator" in one.reason


@pytest.mark.parametrize(("has", "measured"), [(("DEFAULT", "AVX2"), {"AVX2"}), (("DEFAULT", "AVX512"), set())])
def test_tune_asks_the_program_for_levels_that_isagen_cannot_detect(novel, monkeypatch, has, measured):
    missing = {level.name: () for level in novel.levels} | {"AVX2": ("novel (unknown to this isagen)",)}
    monkeypatch.setattr("isagen.tune.measure.selection_here", lambda _: Selection(missing=missing))
    results = measure(novel, program(*has), 1, lambda *_: None, set())
    (timed,) = results.kernels.values()
    assert timed.seconds.keys() & {"AVX2"} == measured
