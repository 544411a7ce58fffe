"""The ipex table: the reference kernels on IPEX's levels, flags and override variable."""

import json
import re
import shutil
import sys

import pytest

from support.checkout import ROOT
from support.levels import level_that_runs
from support.projects import make_project, need

CODE = (
    "import array, isagen_kernels as k\n"
    "x = array.array('f', [i * 0.37 - 11 for i in range(77)])\n"
    "print(k._get_current_isa_level(), bytes(k.cvt_fp32_to_bf16(x)).hex(), round(k.sum(x), 3),"
    " k.get_cpp_typesize_and_vecsize('float32')[1])"
)
WIDTH = {"DEFAULT": "8", "AVX2": "8", "AVX2_VNNI": "8"}
LEVELS = ["DEFAULT", "AVX2", "AVX2_VNNI", "AVX512", "AVX512_VNNI", "AVX512_BF16", "AMX", "AVX512_FP16"]


@pytest.fixture(scope="module")
def ipex(tmp_path_factory):
    project = make_project(tmp_path_factory.mktemp("ipex"), "ipex")
    for folder in ("kernels", "python", "templates"):
        shutil.copytree(ROOT / folder, project.folder / folder, ignore=shutil.ignore_patterns("isagen", "project"))
    project.isagen("init", "--fragment", "kernels/isagen")
    own = (ROOT / "kernels/isagen/isa.toml").read_text()
    assert own.count('table = "default"') == own.count('override = "ISAGEN_KERNELS_ISA"\n') == 1
    other = own.replace('"default"', '"ipex"').replace('override = "ISAGEN_KERNELS_ISA"\n', "")
    other = re.sub(r', "(\w+)"', lambda word: word[0] if word[1] in LEVELS else "", other)  # without those of arm64
    (project.folder / "kernels/isagen/isa.toml").write_text(other)
    project.setup(
        "-Ddebug=false", f"-Dpython.platlibdir={project.folder}/site", f"-Dpython.purelibdir={project.folder}/site"
    )
    project.ninja()
    project.run("meson", "install", "-C", "build", "--quiet")
    return project


def run(project, *emulator, **environment):
    return project.run(
        *emulator, sys.executable, "-c", CODE, check=False, PYTHONPATH=str(project.folder / "site"), **environment
    ).stdout.splitlines()


@pytest.fixture(scope="module")
def supported(ipex):
    """The levels that this CPU supports, lowest first, as the extension says."""
    code = "import isagen_kernels as k; print(*(x for x, (_, supported, _) in k.isa.levels.items() if supported))"
    done = ipex.run(sys.executable, "-c", code, check=False, PYTHONPATH=str(ipex.folder / "site"))
    if done.returncode != 0 and "ImportError: this module needs features that CPU or OS lack: " in done.stdout:
        pytest.skip("this CPU does not support AVX2, which even the lowest level of the table needs")
    assert done.returncode == 0, done.stdout
    return done.stdout.split()


def test_every_level(ipex, supported):
    results = set()
    for level in LEVELS:
        said = run(ipex, ATEN_CPU_CAPABILITY=level.lower())
        ran, bf16, total, lanes = said[-1].split()
        results.add((bf16, total))
        assert ran == level_that_runs(supported, level, "ipex")
        assert lanes == WIDTH.get(ran, "16")
        assert (len(said) == 1) == (level in supported)
        if level not in supported:
            assert f"ATEN_CPU_CAPABILITY={level} needs features that CPU or OS lack" in said[0]
    assert len(results) == 1


def test_an_unknown_value_warns_lists_the_levels_and_selects_automatically(ipex, supported):
    best = run(ipex)[-1].split()[0]
    warning, *_, result = run(ipex, ATEN_CPU_CAPABILITY="avx9")
    assert "RuntimeWarning: " in warning
    assert "ATEN_CPU_CAPABILITY=avx9 is not a level" in warning
    assert all(level in warning for level in LEVELS)
    assert result.split()[0] == best == supported[-1]


def test_default_is_compiled_as_avx2(ipex):
    matrix = json.loads(ipex.isagen("matrix", "build", "--format", "json").stdout)
    flags = matrix["kernels"][0]["levels"]["DEFAULT"]["flags"]
    assert {"-mavx2", "-mfma", "-mf16c", "-D__AVX__", "-DCPU_CAPABILITY_AVX2", "-DCPU_CAPABILITY_DEFAULT"} <= set(flags)
    assert "-DCPU_CAPABILITY=DEFAULT" in flags
    assert matrix["override"] == "ATEN_CPU_CAPABILITY"


def test_a_cpu_without_avx2_cannot_import_it_and_says_why(ipex):
    need("qemu-x86_64")
    said = run(ipex, "qemu-x86_64", "-cpu", "Nehalem")
    assert said[-1].startswith("ImportError: this module needs features that CPU or OS lack: ")
    assert "avx2" in said[-1]
    assert run(ipex, "qemu-x86_64", "-cpu", "Haswell-v4")[-1].split()[0] == "AVX2"
