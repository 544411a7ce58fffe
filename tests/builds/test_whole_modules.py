"""Extension modules that are kernels as a whole: a private module for each level, and a front that loads the best."""

import json
import re
import shutil
import sys
import sysconfig
from pathlib import Path

import pytest

from support.projects import matrix, need

LEVELS = ["DEFAULT", "AVX2", "AVX512"]
FEW = "-Disa_levels=AVX2,AVX512"
OLDEST = ("qemu-x86_64", "-cpu", "qemu64,-sse3,-cx16,-lahf_lm")
# The whole answer of the Cython modules, as data: levels, results, state.
ANSWERS = """
import json, pickle
from array import array
from tabled import _counts, _shared, _windows
row = array("f", [(7 * i) % 23 - 11 for i in range(200)])
whole, out = array("i", range(-50, 51)), array("i", [0] * 101)
_windows.squares(whole, out)
again = pickle.loads(pickle.dumps(_windows.window(5)))
print(json.dumps({
    "levels": [*_windows.levels(), _counts.level(), _windows.isa.current, _counts.isa.current],
    "sums": [_windows.convolve(row, _windows.window(width)) for width in (1, 3, 7)],
    "squares": list(out),
    "counts": [_counts.count(array("i", values)) for values in ([3, 1, 3], [1])],
    "state": [_windows.window(7) is _windows.window(7), again.width, type(again) is _windows.Window],
    "names": [_windows.__name__, _windows.Window.__module__, _windows.__spec__.name],
    "log": _shared.entries(),
    "loaded": sorted({line.split("/")[-1].strip().split(".cpython")[0] for line in open("/proc/self/maps")
                      if "/tabled/" in line}),
}))
"""


def weights(width):
    return [1 - abs(2 * i - width + 1) / (width + 1) for i in range(width)]


def reference():
    """What ANSWERS prints, apart from levels: sums of small numbers times eighths are exact in any order."""
    row = [(7 * i) % 23 - 11 for i in range(200)]
    return {
        "sums": [
            [sum(row[i + k] * weights(width)[k] for k in range(width)) for i in range(len(row) - width + 1)]
            for width in (1, 3, 7)
        ],
        "squares": [i * i for i in range(-50, 51)],
        "counts": [[[1, 1], [3, 2]], [[1, 2], [3, 2]]],
        "state": [True, 5, True],
        "names": ["tabled._windows"] * 3,
        "log": ["windows 5", "windows 1", "windows 3", "windows 7", "counts 3", "counts 1"],
    }


def python(project, place, code, *emulator, check=True, **environment):
    """Run code with the modules in a folder."""
    environment["PYTHONPATH"] = str(place)
    return project.run(*emulator, sys.executable, "-P", "-c", code, check=check, **environment).stdout


@pytest.fixture(scope="module")
def tabled(prepared, tmp_path_factory):
    """The Cython modules, built at a few levels: the project, and where its package is installed."""
    project = prepared(
        "cython_module", FEW, "-Doptimization=0", "-Dpython.purelibdir=/site", "-Dpython.platlibdir=/site"
    )
    folder = tmp_path_factory.mktemp("place")
    project.run("meson", "install", "-C", project.build, "--no-rebuild", "--destdir", str(folder))
    return project, folder / "site"


@pytest.fixture(scope="module")
def raw(prepared):
    """The modules of the raw C API, and where they are."""
    project = prepared("raw_modules", FEW)
    return project, project.path("isagen/module")


@pytest.fixture(scope="module")
def supported(raw):
    project, place = raw
    levels = json.loads(python(project, place, "import json, single; print(json.dumps(single.isa.levels))"))
    return [name for name in LEVELS if levels[name][1]]


# ---- Cython


@pytest.mark.parametrize("level", LEVELS)
def test_cython_modules_at_every_level(tabled, supported, level):
    """Both modules are of the level, in C and C++, with state of their own; the module that they share is ordinary."""
    if level not in supported:
        pytest.skip(f"this CPU lacks {level}")
    project, place = tabled
    said = json.loads(python(project, place, ANSWERS, TABLED_ISA=level))
    assert said.pop("levels") == [level] * 5
    # No other level is in the process, and the shared module is there once.
    assert said.pop("loaded") == ["_counts", f"_counts.{level}", "_shared", "_windows", f"_windows.{level}"]
    assert said == reference()


def test_an_edited_cython_source_rebuilds_its_own_module(tabled):
    project, _ = tabled
    project.edit("tabled/_counts.pyx", "+= 1", "+= 2")
    steps = project.steps()
    assert any("isa_cython.counts" in step for step in steps)
    assert not [step for step in steps if "windows" in step]
    compiled = [step for step in steps if "Compiling" in step]
    assert len(compiled) == len(LEVELS) + 1  # the copies, and the notes of the front
    project.edit("tabled/_shared.pxd", "cdef Log log", "cdef Log log\n")
    steps = project.steps()  # both modules read the declarations, and generate the same code
    assert {True} == {any(f"isa_cython.{name}" in step for step in steps) for name in ("counts", "windows")}


# ---- introspection, and what happens when files or levels are missing


@pytest.mark.smoke
def test_the_module_tells_its_levels(raw, supported):
    project, place = raw
    best = supported[-1]
    code = "import json, single as m; print(json.dumps([m.told(), m.isa.current, m.isa.kernels, m.isa.override]))"
    told, current, kernels, override = json.loads(python(project, place, code))
    assert (told, current, override) == ([best, 0], best, "RAW_ISA")
    assert {level: cell for level, cell in kernels["single"].items() if cell} == {
        level: "selected" if level == best else "registered" for level in LEVELS
    }
    report = python(project, place, "import phased; print(phased.isa.report())")
    assert report.startswith(f"### phased: {best} in use")
    assert f"- phased: {best}\n" in report
    text = python(project, place, "import phased; print(phased.isa.matrix['project'])").strip()
    assert text == "raw.several"


def test_use_cannot_switch_a_loaded_module(raw, supported):
    project, place = raw
    code = """
import single
print(single.isa.use("avx2"), single.isa.use(single.isa.current))
for level in ("default", "amx"):
    try:
        single.isa.use(level)
    except RuntimeError as problem:
        print(problem)
print(single.told()[0], single.isa.current)
"""
    if "AVX2" not in supported:
        pytest.skip("this CPU lacks AVX2")
    _, first, second, last = python(project, place, code, RAW_ISA="AVX2").splitlines()
    assert first.startswith("this module was imported at level AVX2, and cannot change it: ")
    assert first.endswith(": set RAW_ISA=DEFAULT before the import")
    assert second.startswith("AMX is not built: disabled by the Meson option isa_levels")
    assert last == "AVX2 AVX2"


def test_a_warning_about_the_override_comes_with_the_import(raw):
    project, place = raw
    said = python(project, place, "import phased; print(phased.level())", RAW_ISA="nonsense")
    assert "RuntimeWarning: RAW_ISA=nonsense is not a level, and is ignored" in said
    said = python(
        project,
        place,
        "import warnings; warnings.simplefilter('error')\nimport phased",
        check=False,
        RAW_ISA="nonsense",
    )
    assert "RuntimeWarning" in said.splitlines()[-1]


def test_importing_again_and_other_interpreters_keep_the_level(raw):
    project, place = raw
    again = """
import importlib, os, sys
import phased, single
assert [phased.Counter().next() for _ in range(3)] == [1, 2, 3]
os.environ["RAW_ISA"] = "AVX512"
importlib.reload(phased)
del sys.modules["phased"], sys.modules["single"]
first = phased
import phased, single
assert phased is not first and phased.Counter().next() == 1 and first.Counter().next() == 4
print(phased.level(), phased.isa.current, single.told()[0], single.isa.current)
code = "import phased; assert phased.Counter().next() == 1 and phased.level() == phased.isa.current == 'DEFAULT'"
if sys.version_info >= (3, 13):
    import _interpreters
    problem = _interpreters.run_string(_interpreters.create("legacy"), code)
    assert problem is None, problem
else:
    import _xxsubinterpreters
    _xxsubinterpreters.run_string(_xxsubinterpreters.create(isolated=False), code)
"""
    assert python(project, place, again, RAW_ISA="DEFAULT").split() == ["DEFAULT"] * 4


@pytest.mark.smoke
def test_a_missing_or_broken_level_is_an_import_error(raw, supported, tmp_path):
    project, built = raw
    place = tmp_path / "modules"
    place.mkdir()
    for path in built.glob("single*.so"):
        shutil.copy(path, place)
    best = supported[-1]
    (private,) = place.glob(f"single.{best}.*")
    private.unlink()
    said = python(project, place, "import single", check=False).splitlines()[-1]
    assert said.startswith(f"ImportError: level {best} of this module, a file beside it, cannot be loaded: {private}: ")
    assert python(project, place, "import single; print(single.told()[0])", RAW_ISA="DEFAULT") == "DEFAULT\n"
    shutil.copy(next(built.glob(f"phased.{best}.*.so")), private)
    said = python(project, place, "import single", check=False).splitlines()[-1]
    assert said == f"ImportError: {private} is no level of this module: it defines no PyInit_single"


def test_private_modules_are_no_modules(raw):
    """Tools that import all that they find in a package do not open a level that the CPU may lack."""
    project, place = raw
    code = f"import pkgutil; print(sorted(one.name for one in pkgutil.iter_modules([{str(place)!r}])))"
    assert python(project, place, code) == "['phased', 'single']\n"


def test_an_old_cpu_gets_the_lowest_level(raw):
    need("qemu-x86_64")
    project, place = raw
    said = python(project, place, "import single; print(single.scaled(3), single.told()[0])", *OLDEST)
    assert said == "6048 DEFAULT\n"


def test_a_cpu_without_the_baseline_gets_an_import_error(new_project):
    need("qemu-x86_64", "gcc")
    project = new_project("raw_modules")
    project.edit("meson.build", "  'one': {'module': 'single', 'kernels': files('single.c')},\n", "")
    project.setup("-Disa_levels=none", CC="gcc", CFLAGS="-march=x86-64-v3")
    project.ninja()
    said = python(project, project.path("isagen/module"), "import phased", *OLDEST, check=False).splitlines()[-1]
    assert said.startswith("ImportError: this module needs features that CPU or OS lack: ")
    assert " avx2" in said


# ---- the audit and the matrix


@pytest.mark.smoke
def test_the_audit_and_the_matrix_of_a_build(raw):
    project, place = raw
    report = json.loads(project.isagen("audit", project.build, "--format", "json").stdout)
    judged = {Path(one["target"]).name.partition(".cpython")[0]: one for one in report["targets"]}
    assert sorted(judged) == sorted(
        f"{name}{level}" for name in ("phased", "single") for level in ("", *(f".{level}" for level in LEVELS))
    )
    assert all(not one["findings"] for one in judged.values())
    assert "private module of level AVX2, all of it with " in judged["single.AVX2"]["judged"]
    assert re.search(r"\bavx2\b", judged["single.AVX2"]["judged"])
    (front,) = place.glob("single.cpython*.so")
    for where in (front, place.parent / "isa_plan.one.json"):
        found = matrix(project, where)
        (kernel,) = found["kernels"]
        widths = [kernel["levels"][level]["code"]["widest"] for level in LEVELS]
        assert (kernel["source"], widths) == ("single.c", [128, 256, 512])


def test_a_narrower_baseline_does_not_judge_private_modules(raw):
    """They are opened only where the front found their level; the front itself is judged."""
    project, _ = raw
    said = project.isagen("audit", project.build, "--baseline", "X86_64", "--format", "json")
    assert all(not one["findings"] for one in json.loads(said.stdout)["targets"])


def test_code_beyond_the_level_of_a_private_module_is_found(raw, prepared):
    project, _ = raw
    fault = '__attribute__((target("avx512f"))) void fault(float *x) { for (int i = 0; i < 64; i++) x[i] *= 3; }\n'
    with (project.folder / "single.c").open("a") as stream:
        stream.write(f"void fault(float *x);\n{fault}")
    said = project.ninja(check=False)
    left = list(project.path("isagen/module").glob("single.AVX2.cpython*.so"))
    prepared("raw_modules", FEW)  # as it was, for the other tests
    assert re.search(r"single\.AVX2\.cpython\S+: raw\.one, .*private module of level AVX2", said)
    assert "avx512_f" in said
    assert "single.c" in said  # the kernel source is named
    assert left == []


# ---- generated code


@pytest.mark.parametrize("compiler", ["gcc", "gcc-11", "clang-14", "clang-16"])
def test_the_front_compiles_without_warnings(raw, compiler):
    need(compiler)
    project, place = raw[0], raw[1].parent
    headers = [f"-isystem{sysconfig.get_path('include')}", f"-I{place / 'isa_include.several'}"]
    for name in ("isa_front.several.c", "isa_dispatch.several.c", "isa_stubs.several.c"):
        for language in (["-std=c11"], ["-x", "c++", "-std=c++17"]):
            words = [*language, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-fPIC", *headers]
            project.run(compiler, *words, "-c", str(place / name), "-o", "/dev/null")
