"""`isagen tune`: verdicts from times, and what is written into isa.toml."""

import random
import tomllib
from dataclasses import replace

import pytest

from isagen.model.errors import ProjectError
from isagen.tune.judge import (
    NO_GAIN,
    PAYS,
    SAME_CODE,
    SLOWER,
    UNDECIDED,
    Results,
    Timed,
    advise,
    compare,
    judge,
    shown,
    text_of,
)
from isagen.tune.measure import LINE, _unmeasured, run_rounds
from support.matrices import matrix_of

LEVELS = ("BASE", "WIDE", "HUGE")


def times(seconds: float, noise: float = 0.001, rounds: int = 9, seed: int = 0) -> tuple[float, ...]:
    generator = random.Random(f"{seconds} {seed}")
    return tuple(seconds * (1 + generator.uniform(-noise, noise)) for _ in range(rounds))


def results(code: dict[str, str] | None = None, **seconds: float) -> Results:
    """Times of one kernel by level, on a quiet machine."""
    timed = Timed({level: times(value) for level, value in seconds.items()}, code or {})
    sizes = {"k.c": {level: 100 * (place + 1) for place, level in enumerate(LEVELS)}}
    return Results(LEVELS, {}, sizes, {"k.c": timed})


@pytest.mark.parametrize(
    ("before", "after", "noise", "verdict"),
    [
        (2.0, 1.0, 0.01, PAYS),
        (1.05, 1.0, 0.001, PAYS),
        (1.02, 1.0, 0.001, NO_GAIN),
        (1.0, 1.0, 0.005, NO_GAIN),
        (0.99, 1.0, 0.001, NO_GAIN),
        (0.5, 1.0, 0.01, SLOWER),
        (1.0, 1.0, 0.5, UNDECIDED),
    ],
)
def test_verdicts(before, after, noise, verdict):
    found = compare("BASE", times(before, noise, seed=1), times(after, noise, seed=2), 0.03)
    assert found.verdict == verdict
    assert found.low <= found.speedup <= found.high


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.5, 1.02, "0.76 x BASE (0.50 to 1.02): no gain"), (1.01, 1.05, "1.03 x BASE (1.01 to 1.05): undecided")],
)
def test_words_claim_no_more_than_the_bounds(low, high, words):
    """The first may be slower than BASE; the second is faster, by more than the margin or not."""
    assert shown(compare("BASE", [low] * 3 + [high] * 3, [1.0] * 6, 0.03)) == words


def test_noise_alone_is_rarely_called_a_gain():
    """With a margin, far more rarely than the bounds' confidence says: 1000 comparisons of a kernel with itself."""
    wrong = 0
    for seed in range(1000):
        one, other = times(1.0, 0.2, seed=2 * seed), times(1.0, 0.2, seed=2 * seed + 1)
        wrong += compare("BASE", one, other, 0.03).verdict == PAYS
    assert wrong < 30


def test_bounds_leave_out_what_the_sign_test_allows():
    ratios = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
    found = compare("BASE", ratios, [1.0] * 9, 0.03)
    assert (found.low, found.speedup, found.high) == (2, 5, 8)  # 1 - 2 * (1 + 9) / 512 = 0.961
    found = compare("BASE", ratios[:6], [1.0] * 6, 0.03)
    assert (found.low, found.high) == (1, 6)  # 1 - 2 / 64 = 0.969


def test_a_level_is_compared_with_the_one_that_would_run_without_it():
    found = judge(LEVELS, {}, Timed({"BASE": times(4), "WIDE": times(5), "HUGE": times(3)}, {}), 0.03)
    assert [(one.level, one.keep) for one in found] == [("BASE", True), ("WIDE", False), ("HUGE", True)]
    assert [one.against for judged in found for one in judged.comparisons] == ["BASE", "BASE"]


def test_a_level_is_compared_with_what_it_requires_too():
    """Machines without the level between run that one: AVX512 does not require AVX2_VNNI."""
    seconds = {"BASE": times(4), "WIDE": times(3), "BETWEEN": times(1), "HUGE": times(1)}
    levels, requires = [*seconds], {"WIDE": ["BASE"], "BETWEEN": ["BASE", "WIDE"], "HUGE": ["BASE", "WIDE"]}
    found = judge(levels, requires, Timed(seconds, {}), 0.03)
    assert all(one.keep for one in found)
    assert [one.against for one in found[-1].comparisons] == ["BETWEEN", "WIDE"]


def test_the_same_code_is_dropped_whatever_the_times_say():
    found = judge(LEVELS, {}, Timed({"BASE": times(4), "WIDE": times(2)}, {"BASE": "x", "WIDE": "x"}), 0.03)
    assert found[1].comparisons[0].verdict == SAME_CODE
    assert not found[1].keep
    assert found[2].keep  # not measured


def test_what_is_dropped():
    assert advise(results(BASE=4, WIDE=2, HUGE=2.2), 0.03)[0].dropped == ("HUGE",)
    assert advise(results(BASE=4, WIDE=4), 0.03)[0].dropped == ("WIDE",)
    text = text_of(advise(results({"BASE": "a", "WIDE": "b", "HUGE": "c"}, BASE=4, WIDE=4, HUGE=1), 0.03))
    assert "  drop  WIDE               200 bytes  1.00 x BASE" in text


@pytest.mark.parametrize("source", ["k.c", ""])
def test_the_line_for_isa_toml_is_toml(source):
    measured = results(BASE=4, WIDE=4, HUGE=1)
    if not source:
        measured = Results(**{**vars(measured), "kernels": {"": measured.kernels["k.c"]}, "bytes": {}})
    text = text_of(advise(measured, 0.03))
    (line,) = [line for line in text.splitlines() if line.startswith("  in isa.toml: ")]
    data = tomllib.loads(line.removeprefix("  in isa.toml: "))
    assert data == ({"kernels": {source: {"levels": ["-WIDE"]}}} if source else {"levels": ["-WIDE"]})


# ---- the benchmark


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("dot.cpp 0.5", ("dot.cpp", "0.5")),
        ("kernels/dot.cpp: 1.5e-3 s", ("kernels/dot.cpp", "1.5e-3")),
        ("  dot_stub   3", ("dot_stub", "3")),
        ("took 3 seconds", None),
        ("dot.cpp -1.5", ("dot.cpp", "-1.5")),
        ("dot.cpp .5s", ("dot.cpp", ".5")),
        ("dot.cpp:\n0.5", None),
        ("dot.cpp", None),
    ],
)
def test_lines_of_a_benchmark(line, found):
    assert LINE.findall(f"noise\n{line}\n") == ([found] if found else [])


def bench(tmp_path, text: str) -> list[str]:
    path = tmp_path / "bench"
    path.write_text(f"#!/bin/sh\necho $OWN_ISA >>{tmp_path}/log\n{text}\n")
    path.chmod(0o755)
    return [str(path)]


def silent(name, number, total):
    pass


def test_levels_take_turns_and_each_begins_a_round(tmp_path):
    command = bench(tmp_path, 'case $OWN_ISA in BASE) echo "k.c 2";; *) echo "k.c 1";; esac; echo "other.c 5"')
    sources = {}
    found = run_rounds(command, "OWN_ISA", ["BASE", "WIDE"], 6, {"k.c": "src/k.c"}.get, silent, sources)
    assert sources == {"k.c": "src/k.c", "other.c": None}
    assert found == {"src/k.c": {"BASE": (2.0,) * 6, "WIDE": (1.0,) * 6}}
    assert (tmp_path / "log").read_text().split() == ["BASE", "WIDE", "WIDE", "BASE"] * 3 + ["BASE", "WIDE"]


def test_without_lines_the_command_s_own_time_counts(tmp_path):
    command = bench(tmp_path, 'case $OWN_ISA in BASE) sleep 0.1;; esac; echo "took 3 s"')
    found = run_rounds(command, "OWN_ISA", ["BASE", "WIDE"], 6, {"k.c": "k.c"}.get, silent, {})
    assert set(found) == {""}
    assert min(found[""]["BASE"]) > 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo bad input >&2; exit 3", "ended with status 3: bad input"),
        ("kill -9 $$", "ended with SIGKILL: it prints nothing"),
        ("echo k.c 0", "prints 0 as the time of k.c"),
        ("echo k.c 1e999", "prints 1e999 as the time of k.c"),
        ('[ "$OWN_ISA" = BASE ] && echo "k.c 1"', r"prints a time for k\.c"),
    ],
)
def test_benchmarks_that_cannot_be_used(tmp_path, text, message):
    with pytest.raises(ProjectError, match=message):
        command = bench(tmp_path, text + "\n:" * (text[0] == "["))
        run_rounds(command, "OWN_ISA", ["BASE", "WIDE"], 6, {"k.c": "k.c"}.get, silent, {})
    with pytest.raises(ProjectError, match="cannot be run: No such file") as caught:
        run_rounds(["./none"], "OWN_ISA", ["BASE", "WIDE"], 6, {}.get, silent, {})
    assert (caught.value.where, caught.value.remedy) == ("./none", "give the benchmark's command after --")


def test_levels_of_a_stub_that_was_not_measured_are_not_dropped():
    timed = Timed({"DEFAULT": times(1), "AVX2": times(1)}, {}, ("other_stub",))
    found = Results(("DEFAULT", "AVX2"), {"DEFAULT": (), "AVX2": ("DEFAULT",)}, {}, {"k.c": timed})
    text = text_of(advise(found, 0.03))
    assert "drop  AVX2" in text
    assert "not measured, although of this source: other_stub" in text
    assert "isa.toml" not in text


@pytest.mark.parametrize(
    ("names", "expected"),
    [({"dot"}, ("sum_stub",)), ({"dot_stub", "sum"}, ()), ({"ab.c"}, ()), (set(), ("dot_stub", "sum_stub"))],
)
def test_stubs_that_were_not_measured(names, expected):
    matrix = matrix_of(1)
    (kernel,) = matrix.kernels
    cells = {level: replace(cell, stubs=("dot_stub", "sum_stub")) for level, cell in kernel.levels.items()}
    matrix = replace(matrix, kernels=(replace(kernel, source="kernels/ab.c", levels=cells),))
    assert _unmeasured(matrix, "kernels/ab.c", names) == expected
