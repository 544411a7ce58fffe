"""kernels/vec.h with sanitizers, and on another architecture: each compiles for a minute."""

import pytest

from isagen.processors.table import load_table
from support.checkout import ROOT
from support.pairs import paired
from support.projects import need
from support.vectors import FORMS, SANITIZERS, build, run, runs_here


@pytest.mark.parametrize("form", FORMS)
def test_most_operations_with_sanitizers(form, tmp_path):
    # GCC 12 takes minutes for conversions that have no instruction.
    build("clang++-16", form, tmp_path / "vec", "-O1", "-DFEW_TYPES", *SANITIZERS)
    if not runs_here(form):
        pytest.skip(f"compiled, but not run: this CPU does not support {form}")
    assert run(tmp_path / "vec").stdout.endswith(" 0 failures\n")


@pytest.mark.parametrize("form", ["scalar", "DEFAULT"])
def test_another_architecture(form, tmp_path):
    build("aarch64-linux-gnu-g++", form, tmp_path / "vec", "-O2", "-static")
    need("qemu-aarch64")
    assert run("qemu-aarch64", tmp_path / "vec").stdout.endswith(" 0 failures\n")


@pytest.mark.parametrize(
    ("level", "compiler"),
    paired(["BF16", "SVE256", "SVE2"], ["aarch64-linux-gnu-g++", "clang++-16 --target=aarch64-linux-gnu"]),
)
def test_levels_of_arm64(level, compiler, tmp_path):
    program, *target = compiler.split()
    need(program, "aarch64-linux-gnu-g++", "qemu-aarch64")
    table = load_table("arm64", ROOT)
    flags = [*target, *table.level(level).flags["gnu"], *(f"-D{macro}" for macro in table.defines(level))]
    build(program, "DEFAULT", tmp_path / "vec", "-O2", "-static", *flags)
    said = run("qemu-aarch64", "-cpu", "max,sve-max-vq=2", tmp_path / "vec").stdout
    assert said.startswith("32 bytes" if level == "SVE256" else "16 bytes")
    assert said.endswith(" 0 failures\n")
