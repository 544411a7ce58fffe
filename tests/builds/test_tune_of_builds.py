"""`isagen tune` on a build: a level that pays is kept, a useless one dropped, and the next build leaves it out."""

import json
import re

import pytest

from support.levels import supported_levels
from support.projects import matrix


@pytest.fixture
def tune(prepared):
    if "AVX2" not in supported_levels():
        pytest.skip("needs a CPU with AVX2")
    return prepared("tune")


def verdicts(text):
    """The verdict on AVX2 by kernel, where that is built."""
    found = {one["source"]: one["levels"] for one in json.loads(text)["kernels"]}
    return {source: levels[1]["comparisons"][0]["verdict"] for source, levels in found.items() if len(levels) > 1}


def test_what_is_useless_is_dropped(tune):
    bench = str(tune.path("bench"))
    said = tune.isagen("tune", "build", "--format", "json", "--rounds", "6", "--", bench).stdout
    found = verdicts(said)
    assert found["kernels/faster.c"] == "pays"
    assert found["kernels/slower.c"] == "slower"
    assert found["kernels/neither.c"].startswith(("no gain", "same code"))

    folded = {one["source"]: one["levels"]["AVX2"]["folded"] for one in matrix(tune)["kernels"]}
    sizes = {one["source"]: one["bytes"] for one in json.loads(said)["kernels"]}
    assert {source: row["AVX2"] == 0 for source, row in sizes.items()} == {s: bool(one) for s, one in folded.items()}

    text = tune.isagen("tune", "build", "--rounds", "6", "--", bench).stdout
    assert "drop  AVX2" in text
    with (tune.folder / "isagen/isa.toml").open("a") as stream:
        stream.writelines(f"{line}\n" for line in re.findall("^  in isa.toml: (.*)$", text, re.MULTILINE))
    tune.ninja()  # configures again, as isa.toml changed
    cells = {kernel["source"]: kernel["levels"]["AVX2"] for kernel in matrix(tune)["kernels"]}
    assert cells["kernels/faster.c"]["verdict"] == "built"
    assert cells["kernels/slower.c"]["reason"] == "by isa.toml: kernels.'kernels/slower.c'.levels"
    after = verdicts(tune.isagen("tune", "build", "--format", "json", "--rounds", "6", "--", bench).stdout)
    assert "kernels/slower.c" not in after
    assert after["kernels/faster.c"] == "pays"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["build"], "there is no benchmark\n  name it: isagen tune build -- python bench.py"),
        (["build", "--rounds", "3", "--", "true"], "--rounds: 3 rounds are too few\n  give at least 6"),
        (["build", "--", "./none"], "./none: cannot be run: No such file or directory"),
        (["build", "--", "false"], "false: ended with status 1"),
        (["build", "--", "true"], "true: no level ran: the command loaded nothing with these levels"),
        (["none", "--", "true"], "none"),
    ],
)
def test_bad_input(tune, arguments, message):
    done = tune.isagen("tune", *arguments, check=False)
    assert done.returncode == 2
    assert message in done.stdout


def test_two_builds_are_named_by_their_plans(tune):
    """They are of one project, whose name tells them apart no more."""
    tune.run("cp", "-r", "build", "build2")
    said = tune.isagen("tune", ".", "--", "true", check=False).stdout
    assert "contains 2 sets of kernels: build/isagen/isa_plan.json; build2/isagen/isa_plan.json" in said
    done = tune.isagen("tune", "build/isagen/isa_plan.json", "--rounds", "6", "--", tune.path("bench"))
    assert "kernels/faster.c" in done.stdout


def test_a_command_needs_the_dashes(tune):
    done = tune.isagen("tune", "build", "python", "x", check=False)
    assert done.returncode == 2
    assert "put `--` before the command" in done.stdout
    assert "unrecognized arguments: --nothing" in tune.isagen("tune", "build", "--nothing", check=False).stdout
