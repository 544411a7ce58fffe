"""Compiled tile instructions: one configuration before them on every path, and a release on every way out."""

import subprocess
from pathlib import Path

import isagen_kernels._core
import pytest

from isagen.processors.table import load_table
from support.checkout import ROOT
from support.pairs import paired
from support.projects import need
from support.tile_code import Library, faults
from support.tiles_library import COMPILERS, build

PROLOGUE = """
#define CONFIGURE __asm__ volatile("ldtilecfg %0" : : "m"(*config))
#define RELEASE __asm__ volatile("tilerelease")
#define USE __asm__ volatile("tilezero %tmm0")
struct Config { char bytes[64]; };
struct Released { ~Released() { RELEASE; } };
void other();
"""
WRONG = {
    "never configured": ("{ (void)config; (void)x; USE; }", "no configuration on a path to here"),
    "configured on one path": (
        "{ if (x) CONFIGURE; else other(); USE; RELEASE; }",
        "no configuration on a path to here",
    ),
    "used after the release": ("{ CONFIGURE; USE; RELEASE; if (x) USE; }", "no configuration on a path to here"),
    "configured twice": ("{ CONFIGURE; if (x) CONFIGURE; USE; RELEASE; }", "a second configuration"),
    "configured in a loop": ("{ for (int i = 0; i < x; i++) CONFIGURE; USE; RELEASE; }", "a second configuration"),
    "released twice": ("{ CONFIGURE; USE; RELEASE; if (x) RELEASE; }", "nothing to release"),
    "early return": ("{ CONFIGURE; USE; if (x) return; RELEASE; }", "leaves without a release"),
    "jump to another function": ("{ CONFIGURE; USE; other(); }", "leaves for _Z5otherv without a release"),
    "exception": ("{ CONFIGURE; USE; other(); RELEASE; }", "an exception of _Z5otherv leaves without a release"),
    "exception of one of two": (
        "{ CONFIGURE; if (x) { Released r; other(); USE; } else { other(); RELEASE; } }",
        "an exception of _Z5otherv leaves without a release",
    ),
}
RIGHT = {
    "straight": "{ (void)x; CONFIGURE; USE; RELEASE; }",
    "loop": "{ CONFIGURE; Released r; for (int i = 0; i < x; i++) USE; }",
    "early return": "{ other(); if (x > 5) return; CONFIGURE; Released r; USE; if (x) return; USE; }",
    "exception": "{ CONFIGURE; Released r; USE; other(); }",
    "exception that is caught": "{ CONFIGURE; Released r; try { other(); } catch (...) { if (x) return; USE; } }",
}


def compiled(folder: Path, body: str) -> Library:
    """Compile one function."""
    need("g++")
    source, library = folder / "function.cpp", folder / "function.so"
    source.write_text(f"{PROLOGUE}void function(const Config *config, int x) {body}\n", encoding="utf-8")
    command = ["g++", "-std=c++17", "-O2", "-Wall", "-fPIC", "-shared", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return Library(library)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(tmp_path, name):
    body, message = WRONG[name]
    _, found = faults(compiled(tmp_path, body))
    assert any(message in line for line in found), found


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_not_blamed(tmp_path, name):
    count, found = faults(compiled(tmp_path, RIGHT[name]))
    assert count > 0
    assert found == []


def test_a_call_from_tiles_to_tiles_is_found(tmp_path):
    body = (
        "{ CONFIGURE; Released r; USE; if (x) other(); }\n"
        "__attribute__((noinline)) static void inner(const Config *config) { CONFIGURE; USE; RELEASE; }\n"
        "void outer(const Config *config) { CONFIGURE; inner(config); RELEASE; }"
    )
    _, found = faults(compiled(tmp_path, body))
    assert any("a call of a function with tiles of its own" in line for line in found), found


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_path_of_the_test_kernels(compiler, tmp_path_factory):
    count, found = faults(Library(build(compiler, tmp_path_factory).path))
    assert count > 400
    assert found == []


# A header in isagen's place.
DISPATCH = """
#define ISA_DECLARE_DISPATCH(type, stub) extern type stub;
#define ISA_REGISTER_DISPATCH(stub, function) decltype(stub) stub = function;
"""


@pytest.mark.parametrize(
    ("compiler", "optimization"),
    paired(["g++", "g++-11", "clang++-14", "clang++-16"], ["-O3", "-O0", "-O1", "-Os"]),
)
def test_every_path_however_it_is_compiled(tmp_path, compiler, optimization):
    need(compiler)
    (tmp_path / "isa_dispatch.h").write_text(DISPATCH, encoding="utf-8")
    flags = [*load_table("x86", ROOT).level("AMX").flags["gnu"]]
    flags += [f"-DCPU_CAPABILITY_{level}" for level in ("AVX512", "AVX512_VNNI", "AVX512_BF16", "AMX")]
    library = tmp_path / "products.so"
    command = [compiler, "-std=c++17", optimization, "-Wall", "-Wextra", "-Wpedantic", "-Werror", *flags]
    command += [f"-I{tmp_path}", f"-I{ROOT / 'kernels'}", "-fPIC", "-shared", "-o", str(library)]
    subprocess.run([*command, *(str(ROOT / "kernels" / f"matmul_{k}.cpp") for k in ("u8s8", "bf16"))], check=True)
    count, found = faults(Library(library))
    assert count > 150
    assert found == []


def test_every_path_of_the_installed_kernels():
    built, _, _ = isagen_kernels.isa.levels["AMX"]
    if not built:
        pytest.skip("isagen_kernels is built without AMX")
    count, found = faults(Library(Path(isagen_kernels._core.__file__)))
    assert count > 100
    assert found == []
