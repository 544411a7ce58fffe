"""Copies that are the same as a lower level's are linked once, and no run of the program can tell.

tests/packages/folds has kernels that fold, and one for each reason not to. It is built with folding and without.
"""

import json
import re
from pathlib import Path

import pytest

from isagen.processors.table import load_table
from support.pairs import ALL
from support.projects import make_project, matrix, need, script

FOLDED = {"plain.c", "alike_1.cpp", "alike_2.cpp", "called.cpp", "calls.cpp"}
# Of the macros by which unlike_2.cpp has another function than unlike_1.cpp.
VNNI = {"avx_vnni", "avx512_vnni"}
ASK = script(
    [
        "import folds, json",
        "said = []",
        "for level, (built, supported, missing) in folds.isa.levels.items():",
        "    if built and supported:",
        "        folds.isa.use(level)",
        "        said.append([level, folds.run(), folds.run(), folds.isa.current, folds.isa.kernels])",
        "print(json.dumps([said, folds.elements(), folds.isa.levels]))",
    ]
)


def built(tmp_path_factory, compiler, *options, fold=True):
    """The project, which is built, with folding or without."""
    need(compiler)
    project = make_project(tmp_path_factory.mktemp("folds"), "folds", "folds")
    if not fold:
        with (project.folder / "isagen/isa.toml").open("a") as settings:
            settings.write("\nfold = false\n")
    project.setup(*options, CC=compiler, CXX=compiler.replace("gcc", "g++").replace("clang", "clang++"))
    project.ninja()
    return project


@pytest.fixture(scope="module", params=["gcc", "clang-16", *(["gcc-11", "clang-14"] if ALL else [])])
def both(request, tmp_path_factory):
    """The project with folding and without."""
    return [built(tmp_path_factory, request.param, fold=fold) for fold in (True, False)]


def folded(project, key="folded"):
    """By level that is built, the kernels that are folded, each with the level that has its code."""
    found = matrix(project)
    return {
        level["name"]: {
            one["source"].rpartition("/")[2]: one["levels"][level["name"]][key]
            for one in found["kernels"]
            if one["levels"][level["name"]][key]
        }
        for level in found["levels"]
        if level["verdict"] == "built"
    }


def code_bytes(project):
    """The bytes of code that each level adds, as linked: by the sections' names."""
    (extension,) = project.path("").glob("folds*.so")
    lines = project.run("readelf", "-SW", extension).stdout.splitlines()
    parts = [line.partition("]")[2].split() for line in lines if ".isa_text." in line]
    return {name.removeprefix(".isa_text."): int(size, 16) for name, _, _, _, size, *_ in parts}


def test_the_same_kernels_fold_and_no_others(both):
    found, same = folded(both[0]), folded(both[1], "same_as")
    assert not any(folded(both[1]).values())
    for level in found:
        known = {kernel: lower for kernel, lower in found[level].items() if not kernel.startswith("unlike")}
        assert known == {kernel: lower for kernel, lower in same[level].items() if kernel in FOLDED}
    # At this level one of the two sources has another function of a name than below, and the linker takes one for both.
    assert "unlike_1.cpp" in same["AVX512_VNNI"]
    assert found["AVX512_VNNI"].keys() == FOLDED
    assert found["DEFAULT"] == {}


def test_nothing_else_changes(both):
    """Results, levels, stubs, sets: at every level, and of counters that go on from level to level."""
    said = [json.loads(p.run("python3", "-c", ASK, PYTHONPATH=str(p.path(""))).stdout) for p in both]
    assert said[0] == said[1]
    levels = said[0][0]
    assert [level for level, *_ in levels] == [current for *_, current, _ in levels]
    assert said[0][1] == len([built for built, *_ in said[0][2].values() if built])  # an element of the set each
    for level, first, second, _, stubs in levels:
        assert (first["counts"], second["counts"]) == (1, 2)  # of its own
        assert {stub: found[level] for stub, found in stubs.items()} == dict.fromkeys(stubs, "selected")
    assert levels[-1][2]["shared_variable"] == 2 * len(levels)
    table = load_table("x86", Path())
    for level, first, *_ in levels:
        has_vnni = not VNNI.isdisjoint(table.required_features(level))
        assert first["unlike_1"] == 4950 + 100 * has_vnni


def test_the_override_selects_a_folded_level(both):
    ask = "import folds; now = folds.isa.current; print(now, *{one[now] for one in folds.isa.kernels.values()})"
    found, _ = both
    for level, *_ in json.loads(found.run("python3", "-c", ASK, PYTHONPATH=str(found.path(""))).stdout)[0]:
        said = found.run("python3", "-c", ask, PYTHONPATH=str(found.path("")), FOLDS_ISA=level.lower()).stdout
        assert said == f"{level} selected\n"


WHY = """
import json, folds
isa = folds.isa
usable = [level for level, (built, supported, _) in isa.levels.items() if built and supported]
why = {level: isa.use(level) and {stub: isa.why(stub) for stub in isa.kernels} for level in usable}
print(json.dumps([why, {level: isa.use(level) and isa.report().splitlines() for level in usable}]))
"""


def test_isa_says_whose_copy_runs(both):
    for project in both:
        (extension,) = project.path("").glob("folds*.so")
        said, report = json.loads(project.run("python3", "-c", WHY, PYTHONPATH=str(project.path(""))).stdout)
        assert said
        for kernel in matrix(project, extension)["kernels"]:
            for level, cell in kernel["levels"].items():
                lower = cell["folded"]
                copy = f"{lower}, because {level}'s has the same code" if lower else level
                for stub in cell["stubs"] if level in said else ():
                    assert said[level][stub] == f"{stub} calls the copy of {copy}"
                    assert f"- {stub}: {level}{f' (the copy of {lower})' if lower else ''}" in report[level]


def test_fewer_bytes_and_nothing_to_audit(both):
    sizes = list(map(code_bytes, both))
    fold = {level for level, kernels in folded(both[0]).items() if kernels}
    assert fold
    for level, size in sizes[1].items():
        assert sizes[0][level] < size if level in fold else sizes[0][level] == size
    for project in both:
        assert "nothing found" in project.isagen("audit", "build").stdout


def test_the_matrix_shows_it(both):
    lower = folded(both[0])["AVX512_VNNI"]["plain.c"]
    for project, mark in zip(both, "=*", strict=True):
        assert re.search(rf"^kernels/plain\.c [ +]*[{mark}]", project.isagen("matrix", "build").stdout, re.MULTILINE)
    (extension,) = both[0].path("").glob("folds*.so")
    assert matrix(both[0], extension)["kernels"][0]["levels"]["AVX512_VNNI"]["folded"] == lower
    said = both[0].isagen("why", "AVX512_VNNI", "kernels/plain.c", "build", check=False).stdout
    assert f"is linked once: the stubs call {lower}'s copy" in " ".join(said.split())


@pytest.mark.parametrize("linker", ["gold", "lld"])
def test_other_linkers(tmp_path_factory, linker):
    need({"gold": "ld.gold", "lld": "ld.lld"}[linker])
    options = [f"-D{language}_link_args=-fuse-ld={linker}" for language in ("c", "cpp")]
    project = built(tmp_path_factory, "gcc", *options)
    assert any(folded(project).values())
    json.loads(project.run("python3", "-c", ASK, PYTHONPATH=str(project.path(""))).stdout)


def test_what_an_object_says_of_itself_stays(tmp_path_factory):
    """An object without a statement on its stack, or on branch protection, decides for the whole extension."""
    flags = [f"-D{language}_args=-fcf-protection=full" for language in ("c", "cpp")]
    project = built(tmp_path_factory, "gcc", "-Disa_levels=AVX512,AVX512_VNNI", *flags)
    assert folded(project)["AVX512_VNNI"]
    for place in project.path("isagen").glob("isa_AVX512_VNNI.*.o"):
        text = project.run("readelf", "-nSW", place).stdout
        assert ".note.GNU-stack" in text
        assert "IBT, SHSTK" in text, place.name
    (extension,) = project.path("").glob("folds*.so")
    stack = next(line for line in project.run("readelf", "-lW", extension).stdout.splitlines() if "GNU_STACK" in line)
    assert " RW " in stack  # not RWE


def test_the_matrix_of_what_is_linked_from_an_archive(tmp_path_factory):
    """A linker takes nothing out of an archive that defines nothing: notes are in objects with code."""
    project = built(tmp_path_factory, "gcc", "-Disa_levels=AVX512,AVX512_VNNI")
    text = (project.folder / "meson.build").read_text()
    text = text.replace("py.extension_module", "own = static_library('own', 'folds.cpp', pic: true, DEPENDENCIES)\n#")
    text = text.replace("DEPENDENCIES", "dependencies: [isa_kernels_dep, py.dependency()]")
    text += "py.extension_module('folds', 'keep.c', link_with: own, link_args: '-Wl,-u,PyInit_folds', install: true)\n"
    (project.folder / "meson.build").write_text(text)
    (project.folder / "keep.c").write_text("extern int folds_is_a_module;\n")
    project.ninja()
    (extension,) = project.path("").glob("folds*.so")
    for where in (project.build, extension):
        cells = {one["source"]: one["levels"]["AVX512_VNNI"] for one in matrix(project, where)["kernels"]}
        assert all(cell["code"] and cell["stubs"] for cell in cells.values())
        assert cells["kernels/plain.c"]["folded"]
        assert not cells["kernels/counts.cpp"]["folded"]


@pytest.mark.parametrize("options", [["-Doptimization=0"], ["-Doptimization=g"]])
def test_builds_for_debuggers_do_not_fold(tmp_path_factory, options):
    project = built(tmp_path_factory, "gcc", "-Disa_levels=AVX512,AVX512_VNNI", *options)
    assert not any(folded(project).values())


def test_a_kernel_starts_and_stops_to_fold(tmp_path_factory):
    project = built(tmp_path_factory, "gcc", "-Disa_levels=AVX512,AVX512_VNNI")
    run = ["python3", "-c", "import folds; print(folds.run()['plain'])"]
    where = {"PYTHONPATH": str(project.path(""))}  # on a CPU that has the level, it is the best that is built
    assert project.run(*run, **where).stdout == "4950.0\n"
    plain = "kernels/plain.c"
    project.edit(plain, "double sum = 0;", "double sum = 0;\n#ifdef __AVX512VNNI__\n  sum = 1;\n#endif")
    project.ninja()
    runs = "AVX512_VNNI" in project.run("python3", "-c", "import folds; print(folds.isa.current)", **where).stdout
    assert "plain.c" not in folded(project)["AVX512_VNNI"]
    assert project.run(*run, **where).stdout == ("4951.0\n" if runs else "4950.0\n")
    project.edit(plain, "sum = 1;", "sum = 0;")
    project.ninja()
    assert "plain.c" in folded(project)["AVX512_VNNI"]
    assert project.run(*run, **where).stdout == "4950.0\n"
    with (project.folder / "isagen/isa.toml").open("a") as settings:
        settings.write("\nfold = false\n")
    project.ninja()
    assert not any(folded(project).values())
