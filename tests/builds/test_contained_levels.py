"""Builds whose baseline is raised by -march: levels that it contains are left out, and the best level still runs."""

import json

import pytest

from support.levels import ALL, supported_levels
from support.projects import matrix

REASON = "the baseline contains it, and {}, which runs in its place"
ASK = "import hello, json; print(json.dumps([hello.isa.current, hello.isa.levels, hello.dot(b'\\x02', b'\\x03')]))"


@pytest.mark.parametrize("option", ["-march=x86-64-v4", "-march=native"])
def test_levels_that_the_baseline_contains_are_left_out(scaffold, option):
    supported = supported_levels()
    if option == "-march=x86-64-v4" and "AVX512" not in supported:
        pytest.skip("needs a CPU with AVX-512")
    environment = {"CFLAGS": option, "CXXFLAGS": option}
    said = scaffold.setup("-Dpython.purelibdir=/site", "-Dpython.platlibdir=/site", **environment)
    scaffold.ninja()
    scaffold.run("meson", "install", "-C", "build", "--no-rebuild", "--destdir", str(scaffold.folder / "place"))
    found = matrix(scaffold)
    contained = [one["name"] for one in found["levels"] if set(one["features"]) <= set(found["baseline"])]
    assert contained[:2] == ["DEFAULT", "AVX2"] or "AVX2" not in supported
    cells = found["kernels"][0]["levels"]
    left_out = {level: cell["reason"] for level, cell in cells.items() if cell["verdict"] == "disabled"}
    best = contained[-1]
    assert left_out == dict.fromkeys(contained[1:-1], REASON.format(best))
    assert not left_out or f"disabled : {' '.join(left_out)} {REASON.format(best)}" in " ".join(said.split())
    current, levels, product = json.loads(
        scaffold.run("python3", "-c", ASK, PYTHONPATH=str(scaffold.folder / "place/site")).stdout
    )
    assert (current, product) == (supported[-1], 6)
    assert [level for level in ALL if levels[level][0]] == [level for level in ALL if level not in left_out]
    scaffold.isagen("audit", "build")


def test_what_is_left_out_meets_a_requirement(scaffold):
    option = "-march=x86-64-v4"
    scaffold.setup("-Disa_require=AVX2", CFLAGS=option, CXXFLAGS=option)
    assert matrix(scaffold)["kernels"][0]["levels"]["AVX2"]["verdict"] == "disabled"
