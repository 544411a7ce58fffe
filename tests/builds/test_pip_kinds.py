"""Every kind of kernel and of project as pip builds it: isolated and not, editable, from its sdist, by GCC and Clang.

Each build runs at every level that this CPU supports, and the levels agree. `ISAGEN_TESTS=all` builds all levels of
the tables, and every kind of project in every way: otherwise a few levels, and each project in one of three ways.
"""

import json
from dataclasses import dataclass

import pytest

from support.environments import equip, make_sdist, make_venv, pip, set_for_pip
from support.levels import ALL as ALL_LEVELS
from support.levels import supported_levels
from support.pairs import ALL, paired
from support.projects import need

FEW = ("DEFAULT", "AVX2", "AVX512")


@dataclass(frozen=True)
class Kind:
    """A package: code that sets `levels` and `values`, what its levels agree on, and an edit that changes `values`."""

    code: str
    values: list
    edit: tuple[str, str, str]
    overrides: tuple[str, ...]
    needs: tuple[str, ...] = ()
    levels: tuple[str, ...] = ("DEFAULT", "AVX2", "AVX512")  # what isa.toml has; () where it has all
    options: tuple[str, ...] = ()


KINDS = {
    "generated": Kind(
        "import generated_kernels as m; x = array('d', range(9)); m.scale(x, 0.5); m.clip(x, 1, 3)\n"
        "levels = [m.isa.current]; values = [x.tolist(), m.numbers(5)[1:]]",
        [[1, 1, 1, 1.5, 2, 2.5, 3, 3, 3], [7, 38]],
        ("kernels/loop.j2", "*= by", "*= by * 2"),
        ("GENERATED_ISA",),
    ),
    "fortran": Kind(
        "import fortran_kernels as m; x, y = array('f', range(37)), array('f', [1] * 37); m.axpy(2.0, x, y)\n"
        "levels = [m.isa.current]; values = [y.tolist()[:3], m.dot(x, y), m.total(x)]",
        [[1, 3, 5], sum(x * (1 + 2 * x) for x in range(37)), sum(range(37))],
        ("kernels/dot.F90", "dot = ", "dot = 1 + "),
        ("FORTRAN_ISA",),
        needs=("gfortran",),
    ),
    "assembly": Kind(
        "import assembly_kernels as m; x = array('I', range(70)); total = m.sum(x); m.scale(x, 3)\n"
        "levels = [m.isa.current]; values = [total, x.tolist()[-1], m.count(x, 9)]",
        [sum(range(70)), 207, 1],
        ("kernels/scale.c", "*= ", "*= 2 * "),
        ("ASSEMBLY_ISA",),
    ),
    "reductions": Kind(
        "import reductions as m\n"
        "levels = [m.isa.current]; values = [m.mean(array('d', range(9))), m.var(array('d', range(9)))]",
        [4, 7.5],
        ("kernels/mean.cpp", "total.value() / n", "total.value()"),
        ("REDUCTIONS_ISA",),
        options=("-Dfront=enabled",),
    ),
    "pybind_module": Kind(
        "import histograms as m; x = m.Values([float(i % 7) for i in range(100)])\n"
        "levels = [m.level(), m.isa.current]; values = [x.sum(), m.histogram(x, 7, 0, 7)]",
        [295, [15, 15, 14, 14, 14, 14, 14]],
        ("bins.cpp", "return total", "return 2 * total"),
        ("HISTOGRAMS_ISA",),
        levels=(),
    ),
    "cython_module": Kind(
        "from tabled import _counts, _windows; row = array('f', [1, 2, 3])\n"
        "levels = [_counts.level(), *_windows.levels()]\n"
        "values = [_counts.count(array('i', [3, 1, 3])), list(_windows.convolve(row, _windows.window(1)))]",
        [[[1, 1], [3, 2]], [1, 2, 3]],
        ("tabled/_counts.pyx", "+= 1", "+= 5"),
        ("TABLED_ISA",),
        levels=(),
    ),
    "raw_modules": Kind(
        "import phased, single\n"
        "levels = [single.told()[0], phased.level()]; values = [single.scaled(2), phased.Counter().next()]",
        [64 * 63, 1],
        ("single.c", "i * factor", "i * factor + 1"),
        ("RAW_ISA",),
        levels=(),
    ),
    "sets": Kind(
        "import sets; said = [line.split() for line in sets.said()]\n"
        "levels = [level for _, level in said]; values = [name for name, _ in said]",
        ["mean", "conf7", "custom", "run"],
        ("stats/mean.cpp", "FAR_NAME", '"x" FAR_NAME'),
        ("STATS_ISA", "GEN_ISA"),
        levels=("DEFAULT", "AVX2"),
    ),
    "shapes": Kind(
        "import shapes; said = [line.split() for line in shapes.said()]\n"
        "levels = [level for _, level in said]; values = [name for name, _ in said]",
        ["outer", "outer", "inner"],
        ("level.cpp", "outer ", "other "),
        ("OUTER_ISA", "INNER_ISA"),
        levels=("DEFAULT", "AVX2"),
    ),
}
COMPILERS = {"gcc": {}, "clang": {"CC": "clang-16", "CXX": "clang++-16"}}
WAYS = ["gcc sdist", "clang plain", "clang editable"]
if ALL:
    WAYS = [f"{compiler} {way}" for compiler in COMPILERS for way in ("sdist", "isolated", "plain", "editable")]


@pytest.fixture(scope="module")
def equipped(tmp_path_factory, wheelhouse):
    """An environment with all that builds without isolation need."""
    folder = tmp_path_factory.mktemp("equipped")
    return equip(make_venv(folder / "venv"), wheelhouse, "cython", "jinja2", "pybind11")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """An environment with nothing: isagen can only come from an isolated build."""
    return make_venv(tmp_path_factory.mktemp("bare") / "venv")


@pytest.mark.parametrize(("name", "way"), paired(KINDS, WAYS))
def test_every_level_agrees(name, way, new_project, wheelhouse, bare, equipped):
    kind = KINDS[name]
    compiler, way = way.split()
    need(*kind.needs, *COMPILERS[compiler].values())
    project = new_project(name)
    for subproject in project.folder.glob("subprojects/*"):
        project.isagen("init", str(subproject))
    levels = "-Disa_levels=" + ("all" if ALL else ",".join(FEW[1:]))
    set_for_pip(project, wheelhouse, *kind.options, levels, "-Doptimization=0")
    project.environment |= COMPILERS[compiler]
    python = bare if way == "isolated" else equipped
    path = {"PATH": f"{python.parent}:{project.environment['PATH']}"}
    where = {"sdist": lambda: [str(make_sdist(project))], "editable": lambda: ["-e", "."]}.get(way, lambda: ["."])()
    alone = () if python == bare else ("--no-build-isolation", "--no-deps")
    pip(project, python, "install", "-q", "--force-reinstall", *alone, *where, **path)

    def results(level):
        code = (
            f"import json, os; os.chdir('/'); from array import array\n{kind.code}\nprint(json.dumps([levels, values]))"
        )
        said = project.run(str(python), "-c", code, **path, **dict.fromkeys(kind.overrides, level)).stdout
        return json.loads(said.splitlines()[-1])

    levels = kind.levels or (ALL_LEVELS if ALL else FEW)
    for level in set(levels) & set(supported_levels()):
        found, values = results(level)
        assert found == [level] * len(found)
        assert values == kind.values
    if way == "editable":
        project.edit(*kind.edit)
        assert results("DEFAULT")[1] != kind.values
        assert results("AVX2")[1] == results("DEFAULT")[1]
