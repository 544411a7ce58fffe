"""Kernels built to leak: unsealed, each crashes an old CPU or runs another level's code; sealed, none does.

tests/packages/leaks is built once per compiler; its objects, as compiled and as sealed, are then linked with every
linker in both orders, and run on a CPU without AVX and on one with AVX2. The program prints the
vector widths for which the code that ran was compiled: `sort 128 256` is the baseline's and the level's.
"""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from support.compiling import need_runtime
from support.levels import supported_levels
from support.projects import UNSEALED, Project, make_project, need

LEVELS = ["DEFAULT", "AVX2", "AVX512"]
LEAKS = ["sort", "growth", "method", "table", "thread_local", "throw", "catch", "lambda"]
# In C, `inline` leaves nothing to merge: see leaks_c.h.
C_STATIC, C_PLAIN = "c_static", "c_plain"
CPUS = {"Nehalem": 128, "Haswell-v4": 256}
LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}
ILLEGAL = "signal 4"


@pytest.fixture(scope="module", params=["g++", "clang++-16"])
def built(request, tmp_path_factory) -> tuple[str, Project]:
    """The compiler, and the project that it built."""
    compiler = request.param
    need(compiler, "qemu-x86_64")
    project = make_project(tmp_path_factory.mktemp("leaks"), "leaks")
    project.setup(CC=compiler.replace("clang++", "clang").replace("g++", "gcc"), CXX=compiler)
    project.ninja()
    return compiler, project


def link(built: tuple[str, Project], *options: str, sealed: bool, levels: Iterable[str], linker: str) -> Path:
    """Link the program by hand: lowest level first after the rest, or highest level first before the rest."""
    compiler, project = built
    levels = list(levels)
    rest = sorted(project.path("leaks.p").glob("*.o"))
    copies = "isagen/isa_{}.*.o" if sealed else "isagen/libisa_{}.a.p/*.o"
    objects = [sorted(project.path("").glob(copies.format(level))) for level in levels]
    assert len(rest) == 4
    assert [len(found) for found in objects] == [3 if level == "DEFAULT" else 2 for level in levels]
    parts = [rest, *objects] if levels[0] == "DEFAULT" else [*objects, rest]
    program = project.path(f"{'sealed' if sealed else 'unsealed'}-{levels[0]}-{linker}")
    words = [path for part in parts for path in part]
    project.run(compiler, f"-fuse-ld={linker}", *options, "-pthread", *words, "-o", program)
    return program


def expected(width: int) -> dict[str, str]:
    """Return what a sealed program says of every leak at the level of that width."""
    return {**dict.fromkeys([*LEAKS, C_STATIC], f"128 {width}"), C_PLAIN: "128 128"}


def run(program: Path, cpu: str, level: str = "") -> dict[str, str]:
    """Return what the program says of every leak: "128 256", or "signal 4"."""
    done = subprocess.run(
        ["qemu-x86_64", "-cpu", cpu, program],
        env={"LEAKS_ISA": level},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert list(said) == [*LEAKS, C_STATIC, C_PLAIN]
    return said


@pytest.mark.parametrize("linker", LINKERS)
def test_sealed_levels_run_their_own_code(built, linker):
    need(LINKERS[linker])
    for levels in (LEVELS, LEVELS[::-1]):
        program = link(built, sealed=True, levels=levels, linker=linker)
        for cpu, width in CPUS.items():
            assert run(program, cpu) == expected(width)
        assert set(run(program, "Haswell-v4", "DEFAULT").values()) == {"128 128"}


@pytest.mark.parametrize("linker", LINKERS)
def test_unsealed_levels_leak(built, linker):
    need(LINKERS[linker])
    said = {}
    for levels in (LEVELS, LEVELS[::-1]):
        program = link(built, sealed=False, levels=levels, linker=linker)
        said[levels[0]] = {cpu: run(program, cpu) for cpu in CPUS}
    for leak in LEAKS:
        # Lowest first, old CPUs are safe, and the level runs the baseline's code, or a mixture.
        assert said["DEFAULT"]["Nehalem"][leak] == "128 128"
        assert said["DEFAULT"]["Haswell-v4"][leak] != "128 256", leak
        # Highest first, the baseline runs AVX-512 code.
        assert said["AVX512"]["Nehalem"][leak] != "128 128", leak
        assert said["AVX512"]["Haswell-v4"][leak] != "128 256", leak
    assert said["DEFAULT"]["Haswell-v4"]["method"] == "128 128"
    assert said["AVX512"]["Nehalem"]["sort"] == ILLEGAL
    # These run as when sealed: there is nothing to merge.
    for answers in said.values():
        for cpu, width in CPUS.items():
            assert answers[cpu][C_STATIC] == f"128 {width}"
            assert answers[cpu][C_PLAIN] == "128 128"


@pytest.mark.parametrize("linker", LINKERS)
def test_a_level_s_code_keeps_a_section_of_its_own(built, linker):
    """Also if the linker discards, folds and strips all that it may."""
    need(LINKERS[linker], "readelf")
    folds = [] if linker == "bfd" else ["-Wl,--icf=all"]
    for options in ([], ["-Wl,--gc-sections", "-s", *folds], ["-static", "-Wl,--gc-sections"]):
        program = link(built, *options, sealed=True, levels=LEVELS, linker=linker)
        listing = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True, check=True).stdout
        names = re.findall(r"(\.isa_text\S*) +PROGBITS", listing)
        assert sorted(names) == [f".isa_text.{level}" for level in sorted(LEVELS)]
        assert run(program, "Haswell-v4") == expected(256)


def test_debuggers_find_the_lines_of_sealed_code(built):
    need("addr2line", "nm")
    _, project = built
    program = link(built, sealed=True, levels=LEVELS, linker="bfd")
    listing = project.run("nm", program).stdout
    found = re.findall(r"^(\w+) t (_ZN12_GLOBAL__N_17catches\S*EPfm\S*|\S*polynomial5apply\S*)$", listing, re.MULTILINE)
    assert len(found) == 6
    for place, name in found:
        said = project.run("addr2line", "-Cfi", "-e", program, place).stdout.splitlines()
        assert re.match(r"\(anonymous namespace\)::catches|polynomial::apply", said[-2])
        assert re.search(r"kernel\.cpp:\d+|:5\d$", said[-1]), name


@pytest.mark.parametrize(
    ("compiler", "sanitizer"),
    [("g++", "address,undefined"), ("g++", "thread"), ("clang++-16", "address"), ("clang++-16", "thread")],
)
def test_sanitizers(new_project, compiler, sanitizer):
    """Their own data about shared variables stays valid after sealing: they report nothing."""
    need_runtime(compiler, f"-fsanitize={sanitizer}")
    project = new_project("leaks")
    cc = compiler.replace("clang++", "clang").replace("g++", "gcc")
    project.setup(f"-Db_sanitize={sanitizer}", "-Db_lundef=false", "-Disa_levels=AVX2", CC=cc, CXX=compiler)
    project.ninja()
    for level, width in (("DEFAULT", 128), ("AVX2", 256)):
        said = project.run(project.path("leaks"), LEAKS_ISA=level, ASAN_OPTIONS="detect_odr_violation=2").stdout
        assert ("warning" in said) == (level not in supported_levels())
        if "warning" not in said:
            assert said.splitlines() == [f"{leak} {answer}" for leak, answer in expected(width).items()]


@pytest.mark.parametrize("linker", LINKERS)
def test_a_shared_library(library, linker):
    need(LINKERS[linker], "nm")
    target = library.path(f"{linker}.so")
    objects = [*library.path("libleak.so.p").glob("*.o"), *library.path("isagen").glob("isa_*.o")]
    library.run("g++", "-shared", f"-fuse-ld={linker}", "-Wl,-z,text,-z,defs", *objects, "-o", target)
    assert "main" in library.run("nm", "-D", target).stdout
    assert not re.search(r"\.(default|avx2)\.\d", library.run("nm", "-D", target).stdout)
    code = f"import ctypes; ctypes.CDLL({str(target)!r}).main()"
    said = library.run(sys.executable, "-c", code, LEAK_ISA="AVX2").stdout.split()
    width = "256" if "AVX2" in supported_levels() else "128"
    assert said[-7:] == ["128", width, "41", "2", "3", width, "3"]


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Project:
    """The program of tests/packages/leak as a shared library."""
    project = make_project(tmp_path_factory.mktemp("library"), "leak")
    project.edit("meson.build", "executable(", "shared_library(")
    project.setup("-Disa_levels=AVX2", CXX="g++")
    project.ninja()
    return project


def test_the_option_links_the_lowest_level_first(new_project):
    need("qemu-x86_64")
    project = new_project("leaks")
    project.setup(*UNSEALED, "-Disa_levels=AVX2")
    project.ninja()
    assert set(run(project.path("leaks"), "Nehalem").values()) == {"128 128"}
    said = run(project.path("leaks"), "Haswell-v4")
    assert [leak for leak in LEAKS if said[leak] == "128 256"] == []


@pytest.mark.parametrize("how", ["gnu89", "extern inline"])
def test_a_plain_inline_function_that_kernels_define_is_each_level_s_own(new_project, how):
    """GNU C89's `inline` defines it in every object, C99's `extern inline` in one: both are strong, never merged."""
    need("qemu-x86_64")
    project = new_project("leaks")
    if how == "extern inline":
        with (project.folder / "kernel_c.c").open("a") as stream:
            stream.write("extern inline int compare_plain(const void *a, const void *b);\n")
    project.setup("-Disa_levels=AVX2", *(["-Dc_args=-fgnu89-inline"] if how == "gnu89" else []))
    project.ninja()
    assert run(project.path("leaks"), "Haswell-v4")[C_PLAIN] == "128 256"
    assert run(project.path("leaks"), "Nehalem")[C_PLAIN] == "128 128"
