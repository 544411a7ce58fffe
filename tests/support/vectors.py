"""Programs of tests/cpp on kernels/vec.h: compiled for a level's vectors, or for none, and run."""

import subprocess

from isagen_kernels import isa

from isagen.processors.table import load_table
from support.checkout import ROOT
from support.compiling import need_runtime

TABLE = load_table("x86", ROOT)
COMPILERS = ("g++", "g++-11", "clang++-14", "clang++-16")
WARNINGS = ("-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", ROOT / "kernels")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

# What differs between levels; those above have no vectors of their own.
FORMS = {
    "scalar": ["-DVECTOR_BYTES=0"],
    "DEFAULT": [],
    "AVX2": ["-DCPU_CAPABILITY_AVX2"],
    "AVX512": ["-DCPU_CAPABILITY_AVX512"],
    "AVX512_BF16": ["-DCPU_CAPABILITY_AVX512", "-DCPU_CAPABILITY_AVX512_BF16"],
}


def run(*command, check=True):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, f"{done.stdout}{done.stderr}"[:4000]
    return done


def build(compiler, form, target, *more, source="vec.cpp"):
    need_runtime(compiler, *(flag for flag in more if flag in SANITIZERS))
    flags = TABLE.level(form).flags["gnu"] if form in TABLE.names() else ()
    run(compiler, *WARNINGS, *flags, *FORMS[form], *more, ROOT / "tests/cpp" / source, "-o", target)


def runs_here(form):
    return form == "scalar" or isa.levels[form][1]
